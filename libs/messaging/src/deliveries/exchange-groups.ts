import type { DeliveryWork } from './delivery-source.js';

/**
 * One transaction for one scope. Of several scopes all outcomes are written before any mark: a mail must not
 * go on the wire in the place of one whose outcome is still to be written.
 */
export function exchangesOf<Work extends DeliveryWork>(works: readonly Work[]): Work[][] {
  const groups = groupByScope(works);
  if (groups.length === 1) return groups;
  return [
    ...groupByScope(works.filter((work) => 'outcome' in work)),
    ...groupByScope(works.filter((work) => !('outcome' in work))),
  ];
}

/** Rows of one environment and one period are written in one transaction. */
export function groupByScope<Work extends DeliveryWork>(works: readonly Work[]): Work[][] {
  const groups = Map.groupBy(
    works,
    ({ scope, usagePeriod }) => `${scope.environmentId}/${usagePeriod?.getTime() ?? ''}`,
  );
  return [...groups.values()];
}
