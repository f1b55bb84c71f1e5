import pg from 'pg';

/** A column of a statement's rows, as PostgreSQL describes it before the statement runs. */
export interface DescribedColumn {
  readonly name: string;
  /** The type in TypeScript once the pool has parsed it: `Date`, `number[]`; `json` for what may be any value. */
  readonly type: string;
  /** The column's own name, `messaging.campaigns.name`, where it is one and may be null, or not; undefined for an expression. */
  readonly source?: { readonly column: string; readonly isNotNull: boolean };
}

/** The types of PostgreSQL that statements return, as `connection-pool.ts` has them parsed. */
const TYPES: Readonly<Record<string, string>> = {
  bool: 'boolean',
  bytea: 'Buffer',
  int2: 'number',
  int4: 'number',
  int8: 'number',
  float4: 'number',
  float8: 'number',
  oid: 'number',
  numeric: 'string',
  text: 'string',
  varchar: 'string',
  bpchar: 'string',
  name: 'string',
  char: 'string',
  uuid: 'string',
  date: 'string',
  timestamptz: 'Date',
  json: 'json',
  jsonb: 'json',
  void: 'string',
  pg_lsn: 'string',
  _bool: 'boolean[]',
  _int2: 'number[]',
  _int4: 'number[]',
  // Not by our parser, which reads plain ones.
  _int8: 'string[]',
  _text: 'string[]',
  _varchar: 'string[]',
  _uuid: 'string[]',
  _date: 'Date[]',
  _timestamptz: 'Date[]',
  _bytea: 'Buffer[]',
};

interface Field {
  readonly name: string;
  readonly tableID: number;
  readonly columnID: number;
  readonly dataTypeID: number;
}

/** Parse and Describe of the extended protocol: PREPARE, with what the columns are made of. */
class Describe {
  readonly described = Promise.withResolvers<readonly Field[]>();
  #fields: readonly Field[] = [];

  constructor(private readonly text: string) {}

  submit(connection: pg.Connection): void {
    const wire = connection as unknown as {
      parse(query: { text: string }): void;
      describe(what: { type: 'S' }): void;
      sync(): void;
    };
    wire.parse({ text: this.text });
    wire.describe({ type: 'S' });
    wire.sync();
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    this.#fields = fields;
  }

  handleError(error: Error): void {
    this.described.reject(error);
  }

  handleReadyForQuery(): void {
    this.described.resolve(this.#fields);
  }
}

/** Describes statements on a migrated database. */
export class Describer {
  readonly #types = new Map<number, string>();
  readonly #columns = new Map<string, { readonly column: string; readonly isNotNull: boolean }>();

  private constructor(private readonly client: pg.Client) {}

  static async open(url: string): Promise<Describer> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const describer = new Describer(client);
    const { rows: types } = await client.query<{ oid: number; name: string }>(
      'select oid, typname as name from pg_type',
    );
    for (const { oid, name } of types) describer.#types.set(oid, name);
    const { rows: columns } = await client.query<{ key: string; column: string; isNotNull: boolean }>(`
      select a.attrelid || '.' || a.attnum as key, attrelid::regclass || '.' || attname as column,
        attnotnull as "isNotNull"
      from pg_attribute a join pg_class c on c.oid = a.attrelid where attnum > 0 and relkind in ('r', 'p')`);
    for (const { key, ...column } of columns) describer.#columns.set(key, column);
    return describer;
  }

  async describe(text: string): Promise<DescribedColumn[]> {
    const describe = new Describe(text);
    this.client.query(describe as unknown as pg.Submittable);
    const fields = await describe.described.promise;
    return fields.map(({ name, tableID, columnID, dataTypeID }) => {
      const postgresType = this.#types.get(dataTypeID) ?? String(dataTypeID);
      const source = this.#columns.get(`${tableID}.${columnID}`);
      return { name, type: TYPES[postgresType] ?? `unread ${postgresType}`, ...(source && { source }) };
    });
  }

  close(): Promise<void> {
    return this.client.end();
  }
}
