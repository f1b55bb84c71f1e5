import rules from './.dependency-cruiser.js';

/** The contexts whose folders import each other one way only. */
const contexts = ['access', 'audience', 'billing', 'deliverability', 'platform', 'webhooks'];

/**
 * Which folders may import which: no two of a context each other, types included. Apart from the other rules because tests
 * and their fixtures may import from anywhere above, and a folder is judged by all of its files.
 * @type {import('dependency-cruiser').IConfiguration}
 */
export default {
  forbidden: contexts.map((context) => ({
    name: `folders-of-${context}-one-way`,
    severity: 'error',
    scope: 'folder',
    from: { path: `^libs/${context}/src/` },
    to: { path: `^libs/${context}/src/`, circular: true },
  })),
  options: { ...rules.options, exclude: { path: `${rules.options.exclude.path}|\\.(spec|fixture)\\.ts$` } },
};
