import { html, type Html } from '../public-pages/html.js';
import { curlExample } from './curl-example.js';
import type { OpenApiDocument, OperationEntry, Parameter, ResponseEntry, Schema } from './document.js';
import { inline, prose } from './prose.js';
import { type Field, fieldsOf, typeOf } from './schema-fields.js';

/** One operation of the reference. */
export function operationSection(
  document: OpenApiDocument,
  path: string,
  method: string,
  operation: OperationEntry,
): Html {
  const scope = operation['x-required-scope'];
  const { schemas } = document.components;
  return html`<details id="${operation.operationId}">
    <summary>
      <span class="method">${method.toUpperCase()}</span>
      <h3>${operation.summary ?? operation.operationId}</h3>
      <code class="path">${path}</code>
    </summary>
    <div>
      ${operation.description === undefined ? null : prose(operation.description)}
      <p class="quiet">
        Scope: ${scope === null || scope === undefined ? 'any valid key' : html`<code>${scope}</code>`}
      </p>
      ${parametersTable(operation.parameters ?? [], schemas)} ${bodyTable(operation, schemas)}
      <h4>Answers</h4>
      ${Object.entries(operation.responses).map(([status, response]) => answer(status, response, schemas))}
      <h4>Example</h4>
      <pre><code>${curlExample(document, path, method, operation)}</code></pre>
    </div>
  </details>`;
}

function parametersTable(
  parameters: readonly Parameter[],
  schemas: Readonly<Record<string, Schema>>,
): Html | null {
  if (parameters.length === 0) return null;
  const rows = parameters.map(
    ({ name, in: place, required, description, schema = {} }) =>
      html`<tr>
        <td><code>${name}</code>${required === true ? ' *' : null}</td>
        <td>${place}</td>
        <td>${typeOf(schema, schemas)}</td>
        <td>${inline(parameterNotes(description, schema))}</td>
      </tr>`,
  );
  return html`<h4>Parameters</h4>
    <div class="wide">
      <table>
        <tr>
          <th>Name</th>
          <th>In</th>
          <th>Type</th>
          <th></th>
        </tr>
        ${rows}
      </table>
    </div>`;
}

function parameterNotes(
  description: string | undefined,
  { enum: values, default: fallback }: Schema,
): string {
  const notes = [
    description,
    values === undefined ? undefined : `One of ${values.map((value) => `\`${String(value)}\``).join(', ')}.`,
    fallback === undefined ? undefined : `Default: \`${JSON.stringify(fallback)}\`.`,
  ];
  return notes.filter((note) => note !== undefined).join(' ');
}

function bodyTable({ requestBody }: OperationEntry, schemas: Readonly<Record<string, Schema>>): Html | null {
  if (requestBody === undefined) return null;
  const schema = requestBody.content['application/json']?.schema;
  const types = Object.keys(requestBody.content).join(', ');
  return html`<h4>Body <span class="quiet">(${types})</span></h4>
    ${schema === undefined ? null : fieldsTable(fieldsOf(schema, schemas))}`;
}

function answer(
  status: string,
  { description, content }: ResponseEntry,
  schemas: Readonly<Record<string, Schema>>,
): Html {
  const schema = status.startsWith('2') ? content?.['application/json']?.schema : undefined;
  return html`<p><strong>${status}</strong> ${inline(description)}</p>
    ${schema === undefined ? null : fieldsTable(fieldsOf(schema, schemas))}`;
}

function fieldsTable(fields: readonly Field[]): Html | null {
  if (fields.length === 0) return null;
  const rows = fields.map(
    ({ name, type, isRequired, notes }) =>
      html`<tr>
        <td><code>${name}</code>${isRequired ? ' *' : null}</td>
        <td>${type}</td>
        <td>${inline(notes)}</td>
      </tr>`,
  );
  return html`<div class="wide">
    <table>
      <tr>
        <th>Field</th>
        <th>Type</th>
        <th></th>
      </tr>
      ${rows}
    </table>
  </div>`;
}
