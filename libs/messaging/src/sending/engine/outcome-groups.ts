import type { DeliveryWork } from '../delivery-source.js';

/**
 * One statement for one scope. Of several all outcomes are written before any mark: a mail must not
 * go on the wire in the place of one whose outcome is still to be written.
 */
export function outcomeBatchesOf<Work extends DeliveryWork>(works: readonly Work[]): Work[][] {
  const groups = groupByScope(works);
  if (groups.length === 1) return groups;
  return [
    ...groupByScope(works.filter((work) => 'outcome' in work)),
    ...groupByScope(works.filter((work) => !('outcome' in work))),
  ];
}

/** Rows of one environment, one period and one partition are written in one statement. */
export function groupByScope<Work extends DeliveryWork>(works: readonly Work[]): Work[][] {
  const groups = Map.groupBy(
    works,
    ({ scope, usagePeriod, delivery, ambiguousPolicy }) =>
      `${scope.environmentId}/${usagePeriod?.getTime() ?? ''}/${delivery.queuedOn}/${ambiguousPolicy}`,
  );
  return [...groups.values()];
}
