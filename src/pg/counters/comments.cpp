#include "pg/counters/comments.hpp"

#include "pg/events/public_facts.hpp"
#include "pg/sources/guarantee.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "commands/comment.h"
}

namespace dp_counter::pg {

void comment_on_counter(Oid counter, Numeric epsilon, const SourceDeclaration* source) {
    const char* guarantee = nullptr;
    ColumnTexts texts{"Events recorded so far, plus noise", "the exact number"};
    AttrNumber column = 0;
    const auto comment = [&](const char* text) {
        CreateComments(counter, RelationRelationId, ++column, text);
    };
    if (source != nullptr) {
        const Promise promise{&source->row, &source->source,     &source->unit, source->cumulative,
                              epsilon,      source->sensitivity, source->block};
        guarantee = comment_of(promise);
        texts = column_texts(promise);
        comment("Beginning of the period");
        if (source->row.others != 0)
            comment(
                psprintf("Group, one of those that were declared, or \"%s\" for the rows of all "
                         "others",
                         TextDatumGetCString(source->groups[source->row.others - 1])));
        else if (source->row.by != InvalidAttrNumber)
            comment("Group, one of those that were declared");
        if (source->row.measure.kind == MeasureKind::histogram)
            comment("Lower end of the bin, which has the values from it on and below the next "
                    "one; the first bin also has those below it");
    } else {
        guarantee = guarantee_of_events(epsilon);
    }
    CreateComments(counter, RelationRelationId, 0, guarantee);
    comment(source != nullptr ? "Number of the period" : "Number of the step");
    comment("When the step was closed");
    comment(texts.number);
    const bool is_average = source != nullptr && source->row.measure.is_average();
    if (!is_average)
        comment("Standard deviation of the noise");
    comment(psprintf("Lower end of the 95 %% interval, for %s", texts.covered));
    comment(psprintf("Upper end of the 95 %% interval, for %s", texts.covered));
    if (!is_average)
        return;
    comment("Events over which it is the average, from the same noise");
    comment("Sum of value - lower over the events, plus noise");
    comment("Sum of upper - value over the events, plus noise");
}

} // namespace dp_counter::pg
