import type { DeliveryWork } from '../delivery-source.js';

/** What is written in one statement: of one environment, one period and one partition, all of it waited for or nothing. */
export type WorkGroup<Work extends DeliveryWork> = readonly [Work, ...Work[]];

/**
 * The statements in their order. Of several all outcomes are written before any mark: a mail must not
 * go on the wire in the place of one whose outcome is still to be written.
 */
export function outcomeBatchesOf<Work extends DeliveryWork>(works: readonly Work[]): WorkGroup<Work>[] {
  const groups = groupByScope(works);
  if (groups.length === 1) return groups;
  return [
    ...groupByScope(works.filter((work) => 'outcome' in work)),
    ...groupByScope(works.filter((work) => !('outcome' in work))),
  ];
}

export function groupByScope<Work extends DeliveryWork>(works: readonly Work[]): WorkGroup<Work>[] {
  const groups = Map.groupBy(
    works,
    ({ scope, usagePeriod, delivery, ambiguousPolicy }) =>
      `${scope.environmentId}/${usagePeriod?.getTime() ?? ''}/${delivery.queuedOn}/${ambiguousPolicy}/${delivery.leaseEpoch === null}`,
  );
  // No group is empty.
  return [...groups.values()] as unknown as WorkGroup<Work>[];
}
