import { OPERATOR_PREFIX } from '#platform/http';
import type { OperationEntry } from './document.js';

const CLIENT = {
  name: 'mailwright',
  type: 'Mailwright',
  entry: '@mailwright/sdk',
  key: 'MAILWRIGHT_KEY',
};
const OPERATOR_CLIENT = {
  name: 'operator',
  type: 'MailwrightOperator',
  entry: '@mailwright/sdk/operator',
  key: 'MAILWRIGHT_OPERATOR_KEY',
};

/** A sample that calls the operation of a path with the SDK; null when the SDK has no method for it. */
export function sdkSample(path: string, operation: OperationEntry): string | null {
  const { 'x-sdk-method': method, parameters = [], requestBody } = operation;
  if (method === undefined) return null;
  const values = parameters.filter((parameter) => parameter.in === 'path').map(({ example }) => example);
  const body = requestBody?.content['application/json']?.example;
  if (body !== undefined) values.push(body);
  const { content = {} } = requestBody ?? {};
  const isFile = content['application/json'] === undefined;
  const type = isFile ? ['image/png', 'text/csv'].find((one) => content[one] !== undefined) : undefined;
  const given = type === undefined ? values.map(literal) : ['file'];
  const client = path.startsWith(OPERATOR_PREFIX) ? OPERATOR_CLIENT : CLIENT;
  const call = `${client.name}.${method}(${given.join(', ')})`;
  const isList = parameters.some(({ name }) => name === 'page');
  return `${type === undefined ? '' : "import { openAsBlob } from 'node:fs';\n"}import { ${client.type} } from '${client.entry}';

const ${client.name} = new ${client.type}({
  apiKey: process.env.${client.key} ?? '',
  baseUrl: process.env.MAILWRIGHT_URL ?? '',
});

${type === undefined ? '' : `const file = await openAsBlob('${fileOf(type)}', { type: '${type}' });\n`}${isList ? `for await (const item of ${call}) console.log(item);` : `console.log(await ${call});`}`;
}

/** JSON in the style of TypeScript. */
function literal(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:')
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, (text) =>
      text.includes("'") ? text : `'${text.slice(1, -1).replaceAll(String.raw`\"`, '"')}'`,
    );
}

/** A request with the values of an example. */
export interface SampleRequest {
  readonly method: string;
  /** With its parameters filled in. */
  readonly path: string;
  /** JSON; undefined where there is none. */
  readonly body?: unknown;
  /** Media type of a body that is no JSON. */
  readonly fileType?: string;
}

/** The request by curl. */
export function curlSample({ method, path, body, fileType }: SampleRequest): string {
  const verb = method === 'get' ? '' : ` -X ${method.toUpperCase()}`;
  const json = body === undefined ? null : JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`);
  return [
    `curl${verb} "$MAILWRIGHT_URL${path}"`,
    '-H "X-API-Key: $MAILWRIGHT_KEY"',
    ...(json === null ? [] : [`-H 'Content-Type: application/json'`, `-d '${json}'`]),
    ...(fileType === undefined
      ? []
      : [`-H 'Content-Type: ${fileType}'`, `--data-binary @${fileOf(fileType)}`]),
  ].join(' \\\n  ');
}

/** The request in Python, by requests. */
export function pythonSample({ method, path, body, fileType }: SampleRequest): string {
  const given = [
    `f"{os.environ['MAILWRIGHT_URL']}${path}"`,
    fileType === undefined
      ? 'headers={"X-API-Key": os.environ["MAILWRIGHT_KEY"]}'
      : `headers={"X-API-Key": os.environ["MAILWRIGHT_KEY"], "Content-Type": "${fileType}"}`,
    ...(body === undefined ? [] : [`json=${pythonLiteral(body, 1)}`]),
    ...(fileType === undefined ? [] : [`data=open("${fileOf(fileType)}", "rb")`]),
  ];
  return `import os, requests

response = requests.${method}(
    ${given.join(',\n    ')},
)
response.raise_for_status()`;
}

function fileOf(type: string): string {
  return type === 'text/csv' ? 'people.csv' : `logo.${type.replace(/^.*\//, '')}`;
}

const PYTHON_NAMES = new Map<unknown, string>([
  [null, 'None'],
  [true, 'True'],
  [false, 'False'],
]);

/** JSON as Python writes it; `depth` is that of the line where it begins. */
function pythonLiteral(value: unknown, depth: number): string {
  const name = PYTHON_NAMES.get(value);
  if (name !== undefined) return name;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((item) => pythonLiteral(item, depth + 1))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${pythonLiteral(item, depth + 1)}`);
  const [open, close] = isList ? '[]' : '{}';
  if (
    items.length === 0 ||
    (isList && items.every((item) => !item.includes('\n')) && items.join(', ').length < 60)
  )
    return `${open}${items.join(', ')}${close}`;
  const line = `\n${'    '.repeat(depth + 1)}`;
  return `${open}${line}${items.join(`,${line}`)},\n${'    '.repeat(depth)}${close}`;
}
