const SPECS = {
  'libs/audience/src/consents': ['consent'],
  'libs/audience/src/sign-up': ['confirmation'],
  'libs/audience/src/segments': [
    'case-folding',
    'rule-conditions',
    'rule-dates',
    'rule-field-condition',
    'rule-nodes',
    'rule-reader',
    'segment',
    'segment-graph',
  ],
  'libs/billing/src/credits': ['credit'],
  'libs/deliverability/src/bounces': ['bounce-class', 'bounce-table', 'retry-schedule'],
  'libs/messaging/src/campaigns': [
    'campaign',
    'campaign-draft',
    'campaign.errors',
    'senders/sender-identity',
  ],
  'libs/messaging/src/sending': ['delivery-outcome', 'engine/route-pause', 'engine/unflushed-outcomes'],
};

/**
 * What `npm run test:mutation` runs: units that need neither PostgreSQL nor programs. Stryker changes the sources and counts
 * who runs them, which takes Jest's own runner. @type {import('jest').Config} */
export default {
  rootDir: '.',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '@swc/jest' },
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  roots: Object.keys(SPECS).map((folder) => `<rootDir>/${folder}`),
  testMatch: Object.entries(SPECS).flatMap(([folder, names]) =>
    names.map((name) => `<rootDir>/${folder}/${name}.spec.ts`),
  ),
};
