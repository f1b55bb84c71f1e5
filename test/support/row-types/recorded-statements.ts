import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CamelCasePlugin, DefaultQueryCompiler, type OperationNode } from 'kysely';

/** The literal parts of an `sql` template, by which it is recognised in the sources. */
export type Template = readonly string[];

/** A statement that a program compiled, with the templates it was made of. */
export interface RecordedStatement {
  readonly text: string;
  /** Undefined for a builder's. */
  readonly template?: Template;
  /** Columns of a builder's that are templates. */
  readonly columns: readonly { readonly name: string; readonly template: Template }[];
  /** Templates inside, at any depth. */
  readonly inner: readonly Template[];
  /** Columns are renamed from snake_case in the rows. */
  readonly isCamelCased: boolean;
}

/** The directory of the run, set by the global set-up for all its processes. */
const directory = process.env['MAILWRIGHT_TEST_STATEMENTS'];
/** Texts of one template that differ, by the rules of a segment, say. */
const MAX_TEXTS = 12;

/** All that the processes of the run have recorded, each text once. */
export function recordedStatements(from: string): RecordedStatement[] {
  const files = readdirSync(from).filter((file) => file.endsWith('.jsonl'));
  const lines = files.flatMap((file) => readFileSync(join(from, file), 'utf8').split('\n'));
  return [...new Set(lines)]
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RecordedStatement);
}

/** Appends what Kysely compiles to a file, unless it was compiled before. */
function record(file: string): void {
  const [known, texts] = [new Set<string>(), new Map<string, number>()];
  const renamed = new WeakSet<object>();
  const transform = methodOf(CamelCasePlugin.prototype, 'transformQuery');
  CamelCasePlugin.prototype.transformQuery = function (args) {
    renamed.add(args.queryId);
    return transform.call(this, args);
  };
  const compile = methodOf(DefaultQueryCompiler.prototype, 'compileQuery');
  DefaultQueryCompiler.prototype.compileQuery = function (node, queryId) {
    const compiled = compile.call(this, node, queryId);
    if (known.has(compiled.sql)) return compiled;
    const inner = templatesIn(node);
    const template = literalsOf(node);
    const key = JSON.stringify(inner);
    const count = (texts.get(key) ?? 0) + 1;
    if (inner.length === 0 || count > MAX_TEXTS) return compiled;
    known.add(compiled.sql);
    texts.set(key, count);
    const statement: RecordedStatement = {
      text: compiled.sql,
      ...(template && { template }),
      columns: columnsOf(node),
      inner,
      isCamelCased: renamed.has(queryId),
    };
    appendFileSync(file, `${JSON.stringify(statement)}\n`);
    return compiled;
  };
}

const methodOf = <T, Name extends keyof T>(prototype: T, name: Name) =>
  Object.getOwnPropertyDescriptor(prototype, name)?.value as T[Name];

const literalsOf = (node: object): Template | undefined =>
  'sqlFragments' in node ? (node.sqlFragments as Template) : undefined;

function templatesIn(value: unknown): Template[] {
  if (typeof value !== 'object' || value === null) return [];
  // Parameters may be anything.
  if ('kind' in value && (value.kind === 'ValueNode' || value.kind === 'PrimitiveValueListNode')) return [];
  const own = literalsOf(value);
  return [...(own === undefined ? [] : [own]), ...Object.values(value).flatMap(templatesIn)];
}

interface Selection {
  readonly selection?: {
    readonly kind: string;
    readonly node?: object;
    readonly alias?: { readonly name?: string };
  };
}

/** Selected or returned templates with a name. */
function columnsOf(node: OperationNode): RecordedStatement['columns'] {
  const { selections, returning } = node as OperationNode & {
    readonly selections?: readonly Selection[];
    readonly returning?: { readonly selections: readonly Selection[] };
  };
  return (selections ?? returning?.selections ?? []).flatMap(({ selection }) => {
    if (selection?.kind !== 'AliasNode' || selection.node === undefined) return [];
    const [template, name] = [literalsOf(selection.node), selection.alias?.name];
    return template === undefined || name === undefined ? [] : [{ name, template }];
  });
}

// Loaded by `--import` into each process that runs statements.
if (directory !== undefined) record(join(directory, `${process.pid}.jsonl`));
