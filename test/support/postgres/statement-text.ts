import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DefaultQueryCompiler } from 'kysely';
import { projectRoot } from '../../../libs/platform/src/project-root.js';

type Compile = DefaultQueryCompiler['compileQuery'];

/** The texts that Kysely compiles during `work`. */
export async function textsCompiledBy(work: () => Promise<unknown>): Promise<readonly string[]> {
  const texts: string[] = [];
  const { prototype } = DefaultQueryCompiler;
  const compile = Object.getOwnPropertyDescriptor(prototype, 'compileQuery')?.value as Compile;
  prototype.compileQuery = function (...args) {
    const compiled = compile.apply(this, args);
    texts.push(compiled.sql);
    return compiled;
  };
  try {
    await work();
  } finally {
    prototype.compileQuery = compile;
  }
  return texts;
}

/**
 * The texts that begin with this name in a comment, and what their file in `test/statements` has below its own comment:
 * `UPDATE_STATEMENTS=1` writes it.
 */
export async function statementText(
  name: string,
  texts: readonly string[],
): Promise<{ readonly now: string; readonly committed: string }> {
  const isNamed = (text: string) => text.startsWith(`/* ${name} */`);
  const named = new Set(texts.map((text) => text.trim()).filter(isNamed));
  if (named.size === 0) throw new Error(`Nothing compiled ${name}.`);
  const tidy = (text: string) => text.replace(/ +$/gm, '').replace(/\n{2,}/g, '\n');
  const now = [...named].map((text) => `${tidy(text)};\n`).join('\n');
  const file = join(projectRoot(), 'test/statements', `${name.replaceAll('_', '-')}.sql`);
  const content = await readFile(file, 'utf8');
  const [comment = ''] = /^(?:-- .*\n)+/.exec(content) ?? [];
  if (process.env['UPDATE_STATEMENTS'] === undefined)
    return { now, committed: content.slice(comment.length) };
  await writeFile(file, comment + now);
  return { now, committed: now };
}
