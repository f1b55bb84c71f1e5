import { globSync } from 'node:fs';

/** Rules that `npm run test:mutation` changes, one place at a time. */
export const SOURCES = [
  'libs/audience/src/consents/consent.ts',
  'libs/audience/src/sign-up/confirmation.ts',
  'libs/audience/src/rules/{rule,rule-conditions,rule-dates,rule-faults,rule-field-condition,rule-reader,text-folding}.ts',
  'libs/audience/src/segments/segment.ts',
  'libs/billing/src/credit.ts',
  'libs/deliverability/src/bounces/{bounce-class,refusal,retry-schedule}.ts',
  'libs/messaging/src/campaigns/{campaign,campaign.errors}.ts',
  'libs/messaging/src/sending/delivery-outcome.ts',
  'libs/messaging/src/sending/engine/{route-pause,sender-state}.ts',
];

/** Specs of theirs that need neither PostgreSQL nor programs. */
export const SPECS = [
  'libs/audience/src/consents/consent.spec.ts',
  'libs/audience/src/sign-up/confirmation.spec.ts',
  'libs/audience/src/rules/{case-folding,rule-conditions,rule-dates,rule-field-condition,rule-nodes,rule-reader}.spec.ts',
  'libs/audience/src/segments/segment.spec.ts',
  'libs/billing/src/credit.spec.ts',
  'libs/deliverability/src/bounces/{bounce-table,refusal,retry-schedule}.spec.ts',
  'libs/messaging/src/campaigns/{campaign,campaign.errors}.spec.ts',
  'libs/messaging/src/sending/delivery-outcome.spec.ts',
  'libs/messaging/src/sending/engine/{route-pause,sender-state}.spec.ts',
];

for (const pattern of [...SOURCES, ...SPECS])
  if (globSync(pattern).length !== pattern.split(',').length)
    throw new Error(`config/mutated.js names a file that is not there: ${pattern}`);
