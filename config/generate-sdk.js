// Prints packages/sdk/src/resources.ts, the methods of the SDK, from the OpenAPI document; with `operator` those of its entry for the
// operator's API, with `readme` the SDK's README with the names of both. npm run openapi writes the files.
import { readFileSync } from 'node:fs';

const ROOT = `${import.meta.dirname}/..`;
const JSON_TYPE = 'application/json';
const HEADING = '## Resources and methods';

/** OpenAPI documents with the class that has their methods. */
const API = { file: 'docs/openapi.json', name: 'Resources', of: 'the API' };
const OPERATOR = { file: 'docs/operator-openapi.json', name: 'OperatorResources', of: 'the operator’s API' };

const asked = process.argv[2];
process.stdout.write(asked === 'readme' ? readme() : fileOf(asked === 'operator' ? OPERATOR : API));

/** Methods by the group that has them: `campaigns.create` is in `campaigns`. */
function methodsOf({ file }) {
  const { paths } = JSON.parse(readFileSync(`${ROOT}/${file}`, 'utf8'));
  const groups = new Map();
  for (const [path, operations] of Object.entries(paths))
    for (const [verb, operation] of Object.entries(operations)) {
      // A stream without an end: what it sends can be read by another operation.
      if (operation.responses['200']?.content?.['text/event-stream'] !== undefined) continue;
      // Proxies may drop the body of a DELETE: the SDK calls the POST that has the same name.
      if (verb === 'delete' && operation.requestBody !== undefined) continue;
      const [group, name] = placeOf(operation);
      const methods = groups.get(group) ?? new Map();
      groups.set(group, methods);
      if (methods.has(name)) throw new Error(`Two operations are ${group}.${name} in the SDK.`);
      const route = `${verb.toUpperCase()} ${path.replace(/^\/\w+\/v1/, '')}`;
      const { [JSON_TYPE]: json, 'text/csv': csv } = operation.requestBody?.content ?? {};
      const isFile = csv !== undefined && json === undefined;
      methods.set(name, (isFile ? fileMethodOf : methodOf)(name, route, operation));
      if (csv !== undefined && !isFile) methods.set('csv', csvMethodOf(route, operation));
    }
  return groups;
}

function placeOf({ operationId, 'x-sdk-method': method }) {
  if (method === undefined) throw new Error(`${operationId} has no name in the SDK (@Operation({ sdk })).`);
  if (!method.includes('.'))
    throw new Error(`${method} names no group: it has to be such as campaigns.create.`);
  return method.split('.');
}

function methodOf(name, route, { operationId: id, summary, parameters = [], requestBody, responses }) {
  const named = (place) => parameters.filter((parameter) => parameter.in === place).map((one) => one.name);
  const [path, query] = [named('path'), named('query').filter((one) => one !== 'fields')];
  const takes = parameters
    .filter((parameter) => parameter.in === 'path')
    .map((one) => `${one.name}: ${one.schema?.type === 'integer' ? 'number' : 'string'}`);
  if (query.includes('page')) {
    const values = [
      `'${route}'`,
      'filters',
      'options',
      ...(path.length === 0 ? [] : [`{ ${path.join(', ')} }`]),
    ];
    takes.push(`filters: Filters<'${id}'> = {}`);
    const code = `/** ${summary}. */
  ${name}(${[...takes, 'options?: ListOptions'].join(', ')}): List<Item<'${id}'>> {
    return this.listOf<'${id}'>(${values.join(', ')});
  }`;
    return { code, usage: usageOf(name, takes) };
  }
  const parts = path.length === 0 ? [] : [`path: { ${path.join(', ')} }`];
  if (requestBody?.content['image/png'] !== undefined) {
    takes.push('file: Blob');
    parts.push('file');
  }
  if (requestBody?.content[JSON_TYPE] !== undefined) {
    takes.push(`body: Body<'${id}'>`);
    parts.push('json: body');
  } else if (query.length > 0) {
    takes.push(`query: Query<'${id}'> = {}`);
    parts.push('query');
  }
  const headers = parameters.filter((one) => one.in === 'header' && one.required);
  if (headers.length > 0)
    parts.push(`headers: { ${headers.map((one) => `'${one.name}': '${one.schema.enum[0]}'`).join(', ')} }`);
  const answer = answerTypeOf(responses);
  if (answer !== JSON_TYPE) parts.push(`answerType: '${answer}'`);
  // The type of a query has `fields` already.
  const isRead = named('query').includes('fields') && query.length === 0;
  return callOf({ name, summary, takes, parts, id, route, options: isRead ? 'ReadOptions' : 'CallOptions' });
}

/** The media type of an answer, without its parameters; JSON where there is no body. */
function answerTypeOf(responses) {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2'));
  const [type = JSON_TYPE] = Object.keys(success.content ?? {});
  return type.split(';')[0];
}

/** Takes CSV alone. */
function fileMethodOf(name, route, { operationId: id, summary }) {
  const takes = ['csv: string | Blob', `query: Query<'${id}'> = {}`];
  return callOf({ name, summary, takes, parts: ['csv', 'query'], id, route });
}

/** Takes the body as a file, and in the query what JSON has in the body. */
function csvMethodOf(route, { operationId: id, summary }) {
  const takes = ['csv: string | Blob', `query: Query<'${id}'>`];
  return callOf({
    name: 'csv',
    summary: `${summary}: a CSV file`,
    takes,
    parts: ['csv', 'query'],
    id,
    route,
  });
}

function callOf({ name, summary, takes, parts, id, route, options = 'CallOptions' }) {
  const call = parts.length === 0 ? 'options' : `{ ...options, ${parts.join(', ')} }`;
  const code = `/** ${summary}. */
  ${name}(${[...takes, `options?: ${options}`].join(', ')}): Promise<Answer<'${id}'>> {
    return this.transport.call<'${id}'>('${route}', ${call});
  }`;
  return { code, usage: usageOf(name, takes) };
}

/** `create(body)`; a parameter with a default is marked: `all(filters?)`. */
function usageOf(name, takes) {
  const names = takes.map((one) => `${one.split(':')[0]}${one.endsWith('= {}') ? '?' : ''}`);
  return `${name}(${names.join(', ')})`;
}

/** The README, whose last section has a row of methods for each group. */
function readme() {
  const [before] = readFileSync(`${ROOT}/packages/sdk/README.md`, 'utf8').split(HEADING);
  return `${before}${HEADING}

\`mailwright.campaigns.create(body)\` and so on. \`body\`, \`query\` and \`filters\` are those of the operation, which the method's comment names and
the reference explains. Methods that take \`filters\` return a list and take \`{ signal }\` last, all others return a promise and take
\`{ signal, idempotencyKey }\`.

| Of \`mailwright\` | Methods |
| --- | --- |
${rowsOf(API)}
Of \`MailwrightOperator\`, with the types of the [operator's API](../../docs/operator-api.md):

| Of \`operator\` | Methods |
| --- | --- |
${rowsOf(OPERATOR)}`;
}

function rowsOf(api) {
  const rows = [...methodsOf(api)].map(
    ([group, own]) =>
      `| \`${group}\` | ${[...own.values()].map(({ usage }) => `\`${usage}\``).join(', ')} |\n`,
  );
  return rows.join('');
}

function fileOf(api) {
  const groups = methodsOf(api);
  const classes = [...groups].map(([group, own]) =>
    classOf(
      `class ${classNameOf(group)}`,
      [...own.values()].map(({ code }) => code),
    ),
  );
  const fields = [...groups.keys()].map(
    (group) => `readonly ${group} = new ${classNameOf(group)}(this.transport);`,
  );
  const code = classes.join('\n\n');
  const used = (...names) => names.filter((name) => new RegExp(`\\b${name}<`).test(code)).join(', ');
  return `// Written by \`npm run openapi\` from ${api.file}: change the operation in its controller instead.
import type { ${used('Answer', 'Body', 'Item', 'Query')} } from './operations.js';
import type { List } from './pages.js';
import { type Filters, Resource } from './resource.js';
import type { CallOptions, ListOptions, ReadOptions } from './transport.js';

${code}

/** The operations of ${api.of}, by what they are about. */
${classOf(`export abstract class ${api.name}`, [fields.join('\n  ')])}
`;
}

function classOf(head, members) {
  return `${head} extends Resource {\n  ${members.join('\n\n  ')}\n}`;
}

function classNameOf(group) {
  return `${group[0].toUpperCase()}${group.slice(1)}`;
}
