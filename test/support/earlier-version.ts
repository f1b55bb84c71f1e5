import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { projectRoot } from '../../libs/platform/src/project-root.js';

/** An empty database as the version left it whose last migration was `last`; resolves to what is still to come. */
export async function migrateTo(url: string, last: string): Promise<string[]> {
  const directory = join(projectRoot(), 'migrations');
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).sort();
  const [before, after] = [
    files.filter((file) => nameOf(file) <= last),
    files.filter((file) => nameOf(file) > last),
  ];
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // As the migrator keeps it.
    await client.query(
      `create table public.schema_migrations (id serial primary key, name varchar(255), executed_at timestamptz default now())`,
    );
    for (const file of before) {
      await client.query(await readFile(join(directory, file), 'utf8'));
      await client.query('insert into public.schema_migrations (name) values ($1)', [nameOf(file)]);
    }
  } finally {
    await client.end();
  }
  return after.map(nameOf);
}

function nameOf(file: string): string {
  return file.replace(/\.sql$/, '');
}
