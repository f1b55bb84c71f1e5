import { IMAGE_TYPES } from '#messaging';
import { FIELDS_PARAMETER, PROBLEM_TYPES, type ProblemSlug } from '#platform/http';
import {
  type OpenApiDocument,
  type OperationEntry,
  operationsOf,
  type ResponseEntry,
  type Schema,
} from './document.js';
import { addExamples } from './examples.js';
import { PROBLEM, problemExample, problemSlugs } from './problems.js';

const integerHeader = (description: string) => ({ description, required: true, schema: { type: 'integer' } });

const HEADERS = {
  'X-RateLimit-Limit': integerHeader('The requests per minute that the key allows.'),
  'X-RateLimit-Remaining': integerHeader('The requests left in the current window.'),
  'X-RateLimit-Reset': integerHeader('When the window ends, in Unix seconds.'),
  'RateLimit-Policy': {
    description:
      'The limit as a structured field (draft-ietf-httpapi-ratelimit-headers-11): `q` requests in `w` seconds.',
    required: true,
    schema: { type: 'string' },
    example: '"default";q=60;w=60',
  },
  RateLimit: {
    description:
      'The window as a structured field: `r` requests are left for `t` seconds, then it begins anew.',
    required: true,
    schema: { type: 'string' },
    example: '"default";r=59;t=60',
  },
  'X-Request-Id': {
    description: 'The id of the request in the log.',
    required: true,
    schema: { type: 'string' },
  },
  'Retry-After': integerHeader('Seconds to wait.'),
  Location: { description: 'The path of what was created.', required: true, schema: { type: 'string' } },
  'Idempotency-Replayed': {
    description: '`true` when this is the answer to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
  },
  Link: { description: 'The next and previous page (RFC 8288).', schema: { type: 'string' } },
  'WWW-Authenticate': { description: 'Always `Bearer`.', required: true, schema: { type: 'string' } },
};

const RATE_LIMIT_HEADERS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
] as const;
const PROBLEM_REFERENCE = { $ref: '#/components/schemas/Problem' };
const PROBLEM_TYPE = 'application/problem+json';
const RETRY_STATUSES = new Set(['429', '503']);

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Makes the request safe to repeat: for 24 hours the same key and body get the same answer.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

/** The descriptions of the tags. */
const TAGS: Readonly<Record<string, string>> = {
  Project: 'The project and environment of the API key.',
  Topics: 'What people subscribe to.',
  Subscribers: 'The people who get mail, one by one or by import.',
  Consents: 'Which topics a subscriber agreed to, when and how.',
  'Custom fields': 'Additional properties of subscribers.',
  Segments: 'Groups of subscribers, by list or by rules.',
  Suppressions: 'Addresses that get no mail, or no marketing.',
  Automations: 'Steps that subscribers go through after a trigger.',
  Campaigns: 'Mail to the subscribers of topics: write, check and send it.',
  'Campaign reports': 'The results of a campaign.',
  Messages: 'Mail to one person each, which needs no consent: receipts, passwords, alerts.',
  Templates: 'Content that mails are made of, by name and in versions.',
  Exports: 'Files with a project’s data.',
  'Test inbox': 'The mail of the test environment.',
  'Sending domain': 'The domain of live mail, and its DNS records.',
  Media: 'Images that mails show by their URL.',
  Relays: 'Where live mail is handed over, and the feedback of providers.',
  Audit: 'The log of changes, and that of requests.',
  'API keys': 'Keys of the environment: made, rotated, kept to networks and revoked.',
  Webhooks: 'Endpoints of a project, and what happened as they are told it.',
  Billing: 'Plan, usage and invoices of the tenant.',
  'AI credits': 'The credits that pay for AI reports.',
  Tenants: 'Customers of the installation, with their plans.',
  Projects: 'Products and brands of tenants, with a live and a test environment each.',
  'Project keys': 'API keys of all projects.',
  'Operator billing': 'Plans, subscriptions, invoices and AI credits of tenants.',
  'Operated domains': 'Sending domains of all projects, suspended and resumed.',
  System: 'Mail, relays, jobs and checks of the installation.',
  'Operator audit': 'What the operator and programs of theirs did.',
};

/** Adds the parts that all operations share: problems, headers, security, idempotency. */
export function addCommonRules(document: OpenApiDocument): OpenApiDocument {
  const { components } = document;
  components.schemas['Problem'] = PROBLEM;
  components.headers = HEADERS;
  components.responses = {};
  components.examples = {};
  for (const { method, path, operation } of operationsOf(document)) {
    operation.security = [{ apiKey: [] }, { bearer: [] }];
    operation.description = descriptionOf(operation);
    if (method === 'post') operation.parameters = [...(operation.parameters ?? []), IDEMPOTENCY_KEY];
    const takesFields = method === 'get' && answersInJson(operation);
    if (takesFields) operation.parameters = [...(operation.parameters ?? []), FIELDS_PARAMETER];
    const request = {
      path,
      takesFields,
      hasBody: operation.requestBody !== undefined,
      scope: operation['x-required-scope'] ?? null,
    };
    for (const slug of problemSlugs(path, method, operation)) {
      const { name, ...example } = problemExample(slug, request, document.servers?.[0]?.url ?? '');
      components.examples[name] = example;
      addProblem(operation.responses, slug, name);
    }
    delete operation['x-problems'];
    describeStreams(operation.requestBody?.content ?? {});
    for (const [status, response] of Object.entries(operation.responses))
      addHeaders(method, status, response);
    shareProblems(operation.responses, components.responses);
  }
  document.tags = tagsOf(document);
  addExamples(document);
  return document;
}

/** The operations for which `takesFields` is true. */
function answersInJson({ responses }: OperationEntry): boolean {
  return responses['200']?.content?.['application/json'] !== undefined;
}

/** The description of an operation with the scope that it needs, which programs read from `x-required-scope`. */
function descriptionOf({ summary = '', description, ...operation }: OperationEntry): string {
  const scope = operation['x-required-scope'] ?? null;
  const needs = scope === null ? 'Any valid key may do this.' : `The key needs the scope \`${scope}\`.`;
  return `${description ?? `${summary}.`}\n\n${needs}`;
}

function tagsOf(document: OpenApiDocument): { name: string; description: string }[] {
  const names = operationsOf(document).flatMap(({ operation }) => operation.tags ?? []);
  return [...new Set(names)].map((name) => ({ name, description: TAGS[name] ?? `${name}.` }));
}

/** Answers with a single problem are the same wherever its example is, and 403 for the same scope: they are shared components. */
function shareProblems(
  responses: OperationEntry['responses'],
  shared: NonNullable<OpenApiDocument['components']['responses']>,
): void {
  for (const [status, response] of Object.entries(responses)) {
    const examples = Object.values(response.content?.[PROBLEM_TYPE]?.examples ?? {});
    const example = examples.at(-1);
    if (example === undefined || (examples.length > 1 && status !== '403')) continue;
    const name = example.$ref.replace('#/components/examples/', '');
    shared[name] = response;
    responses[status] = { $ref: `#/components/responses/${name}`, description: response.description };
  }
}

const STREAM_SCHEMAS: Readonly<Record<string, Schema>> = {
  'text/csv': {
    type: 'string',
    description:
      'CSV, in UTF-8 unless the charset of the Content-Type or a byte order mark says another encoding; ' +
      'its first row names the columns.',
  },
  ...Object.fromEntries(
    Object.values(IMAGE_TYPES).map((type) => [
      type,
      { type: 'string', format: 'binary', description: 'The octets of the image.' },
    ]),
  ),
};

/** Only JSON has a schema. */
function describeStreams(content: Record<string, { schema?: Schema }>): void {
  for (const type of Object.keys(content))
    if (!type.endsWith('json')) content[type] = { schema: STREAM_SCHEMAS[type] ?? { type: 'string' } };
}

function addProblem(responses: Record<string, ResponseEntry>, slug: ProblemSlug, example: string): void {
  const { status, title } = PROBLEM_TYPES[slug];
  const line = `\`${slug}\`: ${title}.`;
  const known = responses[status];
  if (known !== undefined) known.description = `${known.description} ${line}`;
  else
    responses[status] = {
      description: line,
      content: { [PROBLEM_TYPE]: { schema: PROBLEM_REFERENCE, examples: {} } },
    };
  const media = responses[status]?.content?.[PROBLEM_TYPE];
  if (media !== undefined)
    media.examples = { ...media.examples, [slug]: { $ref: `#/components/examples/${example}` } };
}

function addHeaders(method: string, status: string, response: ResponseEntry): void {
  const names: (keyof typeof HEADERS)[] = ['X-Request-Id'];
  names.push(...(status === '401' ? (['WWW-Authenticate'] as const) : RATE_LIMIT_HEADERS));
  if (RETRY_STATUSES.has(status)) names.push('Retry-After');
  if (isPage(response)) names.push('Link');
  if (method === 'post' && status.startsWith('2')) names.push('Idempotency-Replayed');
  const headers = Object.fromEntries(names.map((name) => [name, headerOf(name, status)]));
  response.headers = { ...headers, ...response.headers };
}

/** Rate limit headers are optional with 403, 429 and 503: without a key that may ask, or the store, there is no limit to report. */
function headerOf(name: keyof typeof HEADERS, status: string): unknown {
  const mayBeUnknown =
    (status === '403' || RETRY_STATUSES.has(status)) && RATE_LIMIT_HEADERS.some((known) => known === name);
  return mayBeUnknown ? { ...HEADERS[name], required: false } : { $ref: `#/components/headers/${name}` };
}

function isPage({ content }: ResponseEntry): boolean {
  return content?.['application/json']?.schema?.$ref?.endsWith('Page') ?? false;
}
