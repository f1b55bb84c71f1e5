import type { ProblemSlug, ProblemType } from '#platform/http';
import { docsFrame, type NavigationGroup, navigationOf } from '../docs/docs-frame.js';
import { codeInTabs, footer, outline } from '../docs/docs-page.js';
import { codeBlock } from '../docs/highlight.js';
import { renderMarkdown } from '../docs/markdown.js';
import { html, type Html } from '../html.js';
import {
  type MediaType,
  type OpenApiDocument,
  type OperationEntry,
  operationsOf,
  type Parameter,
  resolve,
  type ResponseEntry,
  type Schema,
} from './document.js';
import { curlSample, pythonSample } from './request-samples.js';

interface Operation {
  readonly path: string;
  readonly method: string;
  readonly operation: OperationEntry;
}

/** Address of the page of a tag, or of `events`: what is posted to webhooks. */
export function referenceAddress(tag: string): string {
  return `/docs/reference/${slugOf(tag)}`;
}

const slugOf = (tag: string): string => tag.toLowerCase().replaceAll(' ', '-');
const EVENTS = 'Events';

/** /docs/reference: every operation by its area. */
export function referenceStart(document: OpenApiDocument): string {
  const tags = document.tags ?? [];
  const body = html`<main id="content">
    ${outline(tags.map(({ name }) => ({ level: 2, anchor: slugOf(name), text: name })))}
    <article>
      <p class="eyebrow">Reference</p>
      <h1>${document.info.title}</h1>
      ${prose(document.info.description ?? '')}
      <p>
        Samples read the address of the API from <code>MAILWRIGHT_URL</code>, here
        <code>${document.servers?.[0]?.url ?? ''}</code>, and the key from <code>MAILWRIGHT_KEY</code>.
      </p>
      ${tags.map(
        ({ name, description }) =>
          html`<h2 id="${slugOf(name)}"><a href="${referenceAddress(name)}">${name}</a></h2>
            <p>${description}</p>
            <ul class="operations" role="list">
              ${ofTag(document, name).map(
                (one) =>
                  html`<li>
                    <a href="${referenceAddress(name)}#${one.operation.operationId}"
                      >${one.operation.summary ?? ''}</a
                    >
                    ${route(one)}
                  </li>`,
              )}
            </ul>`,
      )}
      <h2 id="events"><a href="${referenceAddress(EVENTS)}">${EVENTS}</a></h2>
      <p>What Mailwright posts to <a href="/docs/webhooks">webhook endpoints</a>.</p>
    </article>
    ${footer()}
  </main>`;
  return framed(document, 'API reference', null, body);
}

/** /docs/reference/{slug}: the operations of a tag, or the events; null where there are none. */
export function referencePage(document: OpenApiDocument, slug: string): string | null {
  if (slug === slugOf(EVENTS)) return eventsPage(document);
  const tag = document.tags?.find(({ name }) => slugOf(name) === slug);
  if (tag === undefined) return null;
  const operations = ofTag(document, tag.name);
  const fields = new Fields(document.components.schemas, true);
  const answered = new Fields(document.components.schemas, false);
  const objects = [...new Set(operations.flatMap((one) => fields.objectOf(answerOf(one)?.[1]) ?? []))];
  const headings = operations.map(
    ({ operation }) => [operation.operationId, operation.summary ?? ''] as const,
  );
  const body = html`<main id="content" class="reference">
    <article>
      <p class="eyebrow">API reference</p>
      <h1>${tag.name}</h1>
      <p class="lead">${tag.description}</p>
      <ul class="operations" role="list">
        ${headings.map(([id, summary], index) => html`<li><a href="#${id}">${summary}</a>${route(operations[index]!)}</li>`)}
      </ul>
      ${operations.map((one) => operationSection(one, fields, objects))}
      ${objects.map(
        (name) =>
          html`<section class="operation" id="${name}">
            <h2>${wordsOf(name)}</h2>
            <p class="route"><code>${name}</code></p>
            ${prose(document.components.schemas[name]?.description ?? '')}
            ${answered.list(document.components.schemas[name])}
          </section>`,
      )}
    </article>
    ${footer()}
  </main>`;
  return framed(document, `${tag.name} – API reference`, tag.name, body);
}

function eventsPage(document: OpenApiDocument): string {
  const fields = new Fields(document.components.schemas, false);
  const events = Object.entries(document.webhooks ?? {});
  const body = html`<main id="content" class="reference">
    <article>
      <p class="eyebrow">API reference</p>
      <h1>${EVENTS}</h1>
      <p class="lead">What Mailwright posts to webhook endpoints, signed.</p>
      <p>
        Each has its <code>type</code>, a <code>timestamp</code>, its number (<code>sequence</code>) and
        <code>data</code>, which is described below. The <a href="/docs/webhooks">guide</a> says how to verify
        the signature, and what is tried again.
      </p>
      ${events.map(([type, { post }]) => {
        const schema = post.requestBody.content['application/json']?.schema ?? {};
        const { data } = resolve(schema, document.components.schemas).properties ?? {};
        return html`<section class="operation" id="${type}">
          <h2>${type}</h2>
          ${prose(post.description)} ${fields.list(data)}
        </section>`;
      })}
    </article>
    ${footer()}
  </main>`;
  return framed(document, 'Events – API reference', EVENTS, body);
}

function framed(document: OpenApiDocument, title: string, tag: string | null, body: Html): string {
  const areas = (document.tags ?? []).map(({ name }): NavigationGroup => {
    const links = ofTag(document, name).map(({ operation }) => ({
      href: `${referenceAddress(name)}#${operation.operationId}`,
      label: operation.summary ?? operation.operationId,
    }));
    return { title: name, links };
  });
  const navigation = html`<p>
      <a href="/docs">← Documentation</a>
      <a href="/docs/reference" ${tag === null ? html` aria-current="page"` : null}>All operations</a>
      <a href="${referenceAddress(EVENTS)}" ${tag === EVENTS ? html` aria-current="page"` : null}
        >${EVENTS}</a
      >
    </p>
    ${navigationOf(areas, null, tag)}`;
  return docsFrame({ title: `${title} – Mailwright`, navigation, body });
}

function ofTag(document: OpenApiDocument, tag: string): Operation[] {
  return operationsOf(document).filter(({ operation }) => operation.tags?.[0] === tag);
}

function route({ method, path }: Operation): Html {
  return html`<code class="route"><b class="${method}">${method.toUpperCase()}</b> ${path}</code>`;
}

function operationSection(one: Operation, fields: Fields, objects: readonly string[]): Html {
  const { operation } = one;
  const { parameters = [], requestBody, responses } = operation;
  const named = (place: string, title: string) =>
    parameterList(
      title,
      parameters.filter((parameter) => parameter.in === place),
      fields,
    );
  return html`<section class="operation" id="${operation.operationId}">
    <h2>${operation.summary ?? operation.operationId}</h2>
    <p class="route">${route(one)}</p>
    <div>
      <div>
        ${prose(descriptionOf(operation))} ${named('path', 'Path')} ${named('query', 'Query')}
        ${named('header', 'Headers')} ${bodyList(requestBody?.content, fields)}
        <h3>Answers</h3>
        <ul class="answers" role="list">
          ${Object.entries(responses).map((entry) => answer(entry, fields, objects))}
        </ul>
      </div>
      <div class="samples">${samples(one)}</div>
    </div>
  </section>`;
}

/** The description without a first sentence that only repeats the heading. */
function descriptionOf({ summary = '', description = '' }: OperationEntry): string {
  return description.startsWith(`${summary}.`) ? description.slice(summary.length + 1) : description;
}

function parameterList(title: string, parameters: readonly Parameter[], fields: Fields): Html | null {
  if (parameters.length === 0) return null;
  return html`<h3>${title}</h3>
    <ul class="fields" role="list">
      ${parameters.map(({ name, required = false, schema = {}, description }) =>
        fields.row(name, { ...schema, ...(description === undefined ? {} : { description }) }, required),
      )}
    </ul>`;
}

function bodyList(content: Readonly<Record<string, MediaType>> | undefined, fields: Fields): Html | null {
  if (content === undefined) return null;
  const { 'application/json': json, ...files } = content;
  const types = Object.keys(files);
  return html`<h3>Body</h3>
    ${types.length === 0 ? null : html`<p>${json === undefined ? 'The octets of a file' : 'Or a file'}: ${types.map((type) => html`<code>${type}</code> `)}</p>`}
    ${json === undefined ? null : fields.list(json.schema)}`;
}

/** The successful answer of an operation. */
function answerOf({ operation }: Operation): readonly [status: string, ResponseEntry] | undefined {
  return Object.entries(operation.responses).find(([status]) => status.startsWith('2'));
}

const PROBLEMS = /`(?<slug>[a-z-]+)`: (?<title>[^`]+?)\.?(?= `|$)/g;

function answer(
  [status, response]: readonly [string, ResponseEntry],
  fields: Fields,
  objects: readonly string[],
): Html {
  if (!status.startsWith('2')) {
    const problems = [...response.description.matchAll(PROBLEMS)].map(({ groups }) => groups ?? {});
    return html`<li>
      <b>${status}</b>
      ${problems.map(
        ({ slug = '', title = '' }) =>
          html`<span
            ><a href="/problems/${slug}"><code>${slug}</code></a> ${title}</span
          >`,
      )}
    </li>`;
  }
  const object = fields.objectOf(response);
  const schema = response.content?.['application/json']?.schema;
  const type = schema === undefined ? Object.keys(response.content ?? {})[0] : fields.typeOf(schema);
  return html`<li class="success">
    <b>${status}</b>
    <span
      >${object !== null && objects.includes(object) ? html`<a href="#${object}">${type ?? null}</a>` : (type ?? 'No body')}</span
    >
  </li>`;
}

/** The request in each language, and what is answered. */
function samples(one: Operation): Html {
  const { operation, method, path } = one;
  const { parameters = [], requestBody } = operation;
  const content = requestBody?.content ?? {};
  const { example: body } = content['application/json'] ?? {};
  const [fileType] = body === undefined ? Object.keys(content) : [];
  const filled = parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce(
      (result, { name, example }) =>
        result.replace(`{${name}}`, `${(example as string | number | undefined) ?? name}`),
      path,
    );
  const request = { method, path: filled, body, ...(fileType === undefined ? {} : { fileType }) };
  const [status = '', response] = answerOf(one) ?? [];
  const answered = response?.content?.['application/json']?.example;
  return html`${codeInTabs([
    { language: 'curl', text: curlSample(request) },
    ...(operation['x-codeSamples'] ?? []).map(({ source }) => ({ language: 'typescript', text: source })),
    { language: 'python', text: pythonSample(request) },
  ])}
  ${answered === undefined ? null : codeBlock(JSON.stringify(answered, null, 2), 'json', `Answer: ${status}`)}`;
}

/** Text of the document, which is Markdown. */
function prose(markdown: string): Html {
  return renderMarkdown(markdown, (href) => href, { highestLevel: 3 }).html;
}

/** `ApiKeyWithSecret` as `Api key with secret`. */
function wordsOf(name: string): string {
  const words = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
  return `The ${words}`.replace(/^The (?:the )?/, 'The ');
}

/** Objects inside others are unfolded so deep. */
const DEEPEST = 5;

/** Renders schemas as lists of fields. */
class Fields {
  constructor(
    private readonly schemas: Readonly<Record<string, Schema>>,
    /** True where fields are to be given, and not read. */
    private readonly areGiven: boolean,
  ) {}

  /** Name of the schema that an answer shows: that of the items of a page or a list; null where it has no name. */
  objectOf(response: ResponseEntry | undefined): string | null {
    const schema = response?.content?.['application/json']?.schema;
    if (schema === undefined) return null;
    const items = resolve(schema, this.schemas).properties?.['data']?.items;
    return nameOf((isPage(schema) ? items : undefined) ?? schema.items ?? schema);
  }

  list(schema: Schema | undefined, above: readonly string[] = []): Html | null {
    const objects = schema === undefined ? [] : this.#objectsIn(schema);
    if (objects.length === 0) return null;
    return html`${objects.map(({ name, object }) => {
      const required = new Set(object.required);
      const path = name === null ? above : [...above, name];
      return html`${objects.length > 1 ? html`<p class="variant">${name ?? 'One of'}</p>` : null}
        <ul class="fields" role="list">
          ${Object.entries(object.properties ?? {}).map(([field, inner]) =>
            this.row(field, inner, required.has(field), path),
          )}
        </ul>`;
    })}`;
  }

  row(name: string, schema: Schema, isRequired: boolean, above: readonly string[] = []): Html {
    const { description, ...told } = this.#told(schema);
    const inner = above.length < DEEPEST ? this.#innerOf(schema, [...above, `.${name}`]) : null;
    const limits = limitsOf(told);
    return html`<li>
      <code>${name}</code> <span class="type">${this.typeOf(schema)}</span>
      ${isRequired && this.areGiven ? html`<span class="required">required</span>` : null}
      ${description === undefined ? null : prose(description)}
      ${limits.length === 0 ? null : html`<p class="limits">${limits.map((limit) => html`<span>${limit}</span>`)}</p>`}
      ${inner}
    </li>`;
  }

  /** Type of a value in words: `string`, `list of Consent`, `integer or null`. */
  typeOf(schema: Schema): string {
    if (isPage(schema))
      return `page of ${nameOf(resolve(schema, this.schemas).properties?.['data']?.items ?? {}) ?? 'items'}`;
    const name = nameOf(schema);
    if (name !== null) return name;
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    const alternatives = schema.anyOf ?? schema.oneOf;
    if (alternatives !== undefined)
      return [...new Set(alternatives.map((one) => this.typeOf(one)))].join(' or ');
    const types = [schema.type ?? 'any value'].flat();
    return types.map((type) => this.#named(type, schema)).join(' or ');
  }

  #named(type: string, { items, format, additionalProperties, properties }: Schema): string {
    if (type === 'array') return items === undefined ? 'list' : `list of ${this.typeOf(items)}`;
    if (type === 'object' && properties === undefined && typeof additionalProperties === 'object')
      return Object.keys(additionalProperties).length === 0
        ? 'object'
        : `map of ${this.typeOf(additionalProperties)}`;
    return (type === 'string' && FORMATS[format ?? '']) || type;
  }

  #innerOf(schema: Schema, above: readonly string[]): Html | null {
    const names = this.#objectsIn(schema).flatMap(({ name }) => name ?? []);
    if (names.some((name) => above.includes(name))) return null;
    const list = this.list(schema, above);
    return list === null
      ? null
      : html`<details>
          <summary>Fields</summary>
          ${list}
        </details>`;
  }

  /** The objects with fields that a value may be, or consist of. */
  #objectsIn(schema: Schema): { name: string | null; object: Schema }[] {
    const object = resolve(schema, this.schemas);
    if (object.properties !== undefined) return [{ name: nameOf(schema), object }];
    const inner = [
      ...(object.anyOf ?? object.oneOf ?? []),
      ...(object.items === undefined ? [] : [object.items]),
      ...(typeof object.additionalProperties === 'object' ? [object.additionalProperties] : []),
    ];
    return inner.flatMap((one) => this.#objectsIn(one));
  }

  /** A schema with what its only alternative to null says. */
  #told(schema: Schema): Schema {
    const others = (schema.anyOf ?? []).filter(({ type }) => type !== 'null');
    const [only] = others;
    const { description } = resolve(schema, this.schemas);
    const own = description === undefined ? schema : { description, ...schema };
    return only === undefined || others.length > 1 ? own : { ...this.#told(only), ...own };
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'time',
  date: 'date',
  uuid: 'UUID',
  'idn-email': 'e-mail address',
  uri: 'URL',
};

function nameOf({ $ref }: Schema): string | null {
  return $ref?.replace('#/components/schemas/', '') ?? null;
}

function isPage(schema: Schema): boolean {
  return nameOf(schema)?.endsWith('Page') ?? false;
}

function limitsOf(schema: Schema): readonly (Html | string)[] {
  // The most that a format can hold is no limit to tell of.
  const { maximum = Infinity } = schema;
  const greatest = maximum >= 2 ** 31 - 1 ? undefined : maximum;
  const range = (least: number | undefined, most: number | undefined, unit: string) => {
    if (least === 1 && most === undefined && unit !== '') return ['not empty'];
    if (most === undefined) return least === undefined || least === 0 ? [] : [`at least ${least}${unit}`];
    return [least === undefined || least === most ? `at most ${most}${unit}` : `${least} to ${most}${unit}`];
  };
  const values = schema.enum ?? schema.items?.enum ?? [];
  return [
    ...range(schema.minLength, schema.maxLength, ' characters'),
    ...range(schema.minItems, schema.maxItems, ' items'),
    ...range(schema.minimum, greatest, ''),
    ...(schema.default === undefined ? [] : [html`default <code>${JSON.stringify(schema.default)}</code>`]),
    ...values.map((value) => html`<code>${String(value)}</code>`),
  ];
}

/** The page that a problem's `type` leads to (RFC 9457 §3.1.1). */
export function problemPage(slug: ProblemSlug, { status, title, description, remedy }: ProblemType): string {
  const body = html`<main id="content" class="single">
    <article>
      <p class="eyebrow">Problem, status ${status}</p>
      <h1>${title}</h1>
      <p class="route"><code>${slug}</code></p>
      ${prose(description)}
      <h2>What to do</h2>
      ${prose(remedy)}
      <p><a href="/docs/api#errors">All problems</a></p>
    </article>
  </main>`;
  return docsFrame({ title: `${title} – Mailwright API`, body });
}
