import rules from './.dependency-cruiser.js';

/** The contexts whose folders import each other one way only. */
const contexts = ['access', 'audience', 'billing', 'deliverability', 'messaging', 'platform', 'webhooks'];

/** The rooms of messaging: each may import from those before it. */
const rooms = [
  'deliveries',
  'content',
  'engagement',
  'mailbox-simulator',
  'campaigns',
  'automations',
  'sending',
  'reports',
  'erasure',
  'retention',
];

/**
 * Which folders may import which: no two of a context each other, types included. Apart from the other rules because tests
 * and their fixtures may import from anywhere above, and a folder is judged by all of its files.
 * @type {import('dependency-cruiser').IConfiguration}
 */
export default {
  forbidden: [
    ...contexts.map((context) => ({
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
      name: 'a-room-is-below-its-sub-folders',
      comment: 'What lies in a room itself is for all of its sub-folders.',
      severity: 'error',
      from: { path: '^libs/messaging/src/([^/]+)/[^/]+$', pathNot: '\\.module\\.ts$' },
      to: { path: '^libs/messaging/src/$1/[^/]+/' },
    },
  ],
  options: { ...rules.options, exclude: { path: `${rules.options.exclude.path}|\\.(spec|fixture)\\.ts$` } },
};
