import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock, DomainValidationError, type ProjectScope, shippedLocale } from '#kernel';
import { auditedSettings, AuditTrail, Database, named } from '#platform';
import {
  defaultTexts,
  messageFaults,
  type ShippedLocale,
  Wording,
  type WordingKey,
  wordingKeys,
  type WordingOverrides,
} from '#wording';
import type { AccessTables } from './access-tables.js';
import { PROFILE_FIELDS, type ProjectProfile } from './project.js';
import { ProjectRepository } from './project.repository.js';

/** Texts of a project for its readers in one language. */
export interface ProjectTexts {
  readonly locale: ShippedLocale;
  /** Counts the changes; 0 where nothing was ever the project's own. */
  readonly version: number;
  /** Only what is the project's own. */
  readonly own: WordingOverrides;
  /** Ours, complete. */
  readonly defaults: Readonly<Record<WordingKey, string>>;
  readonly createdAt: Date | null;
  readonly updatedAt: Date | null;
}

/** Texts by key; null restores our text, keys left out stay. */
export type TextChanges = Readonly<Partial<Record<WordingKey, string | null>>>;

/** The wording of opt-in mails, footers and pages that is a project's own. */
@Injectable()
export class ProjectTextsService {
  constructor(
    private readonly database: Database,
    private readonly projects: ProjectRepository,
    private readonly clock: Clock,
  ) {}

  of(scope: ProjectScope, locale: ShippedLocale): Promise<ProjectTexts> {
    return this.database.transaction(scope, async () => {
      const versions = this.#versions(scope, locale);
      const first = await versions.select('createdAt').where('version', '=', 1).executeTakeFirst();
      const last = await versions.selectAll().orderBy('version', 'desc').limit(1).executeTakeFirst();
      const [createdAt, updatedAt] = [first?.createdAt ?? null, last?.createdAt ?? null];
      const { version = 0, texts = {} } = last ?? {};
      const defaults = defaultTexts(locale);
      return { locale, version, own: changed(texts, {}, defaults), defaults, createdAt, updatedAt };
    });
  }

  /** Makes a version of them, unless they stay as they are. Throws `DomainValidationError`. */
  async change(scope: ProjectScope, locale: ShippedLocale, changes: TextChanges): Promise<ProjectTexts> {
    refuseFaults(locale, changes);
    return this.database.transaction(scope, async () => {
      // Others that change texts wait, so that each version has the changes of those before.
      await this.projects.lock(scope.projectId);
      const { own, version, defaults } = await this.of(scope, locale);
      const texts = changed(own, changes, defaults);
      if (!isSame(texts, own)) {
        AuditTrail.current?.changes(
          { locale, ...auditedSettings(own) },
          { locale, ...auditedSettings(texts) },
        );
        await this.database
          .tables<AccessTables>()
          .insertInto('access.project_texts')
          .values({
            projectId: scope.projectId,
            locale,
            version: version + 1,
            texts: JSON.stringify(texts),
            createdAt: this.clock.now(),
          })
          .execute();
      }
      return this.of(scope, locale);
    });
  }

  #versions({ projectId }: ProjectScope, locale: ShippedLocale) {
    return this.database
      .tables<AccessTables>()
      .selectFrom('access.project_texts')
      .where('projectId', '=', projectId)
      .where('locale', '=', locale);
  }
}

function refuseFaults(locale: ShippedLocale, changes: TextChanges): void {
  const faults = wordingKeys().flatMap((key) => {
    const text = changes[key] ?? null;
    const fault = text === null ? null : messageFaults(key, text, locale);
    return fault === null ? [] : [[`texts.${key}`, fault] as const];
  });
  if (faults.length > 0) throw new DomainValidationError(Object.fromEntries(faults));
}

/** Own texts after the changes, in our order; one that says what ours says is none, nor is one whose key is gone. */
function changed(
  own: WordingOverrides,
  changes: TextChanges,
  defaults: Readonly<Record<WordingKey, string>>,
): WordingOverrides {
  const texts = wordingKeys().flatMap((key) => {
    const text = changes[key] === undefined ? own[key] : changes[key];
    return text === undefined || text === null || text === defaults[key] ? [] : [[key, text] as const];
  });
  return Object.fromEntries(texts);
}

function isSame(one: WordingOverrides, other: WordingOverrides): boolean {
  return wordingKeys().every((key) => one[key] === other[key]);
}

/** Wording for one reader, with the version of the project's own texts in it: null where all is ours. */
export interface ProjectWording {
  readonly wording: Wording;
  readonly version: number | null;
}

/** A project with the last version of its own texts, by language: all that the words for a reader need. */
export interface WordedProject extends Omit<ProjectProfile, 'environment'> {
  readonly texts: Readonly<Record<string, { readonly version: number; readonly texts: WordingOverrides }>>;
}

/** Statement that reads the project of a scope with its texts; no row when it is gone. */
export function readingWordedProject({ projectId }: ProjectScope): RawBuilder<WordedProject> {
  const fields = sql.join(PROFILE_FIELDS.map((field) => sql.ref(`p.${field}`)));
  return sql<WordedProject>`${named('worded_project')}
    select ${fields}, coalesce((
      select json_object_agg(t.locale, json_build_object('version', t.version, 'texts', t.texts)) from (
        select distinct on (o.locale) o.locale, o.version, o.texts from access.project_texts o
        where o.project_id = ${projectId} order by o.locale, o.version desc
      ) t
    ), '{}') as texts
    from access.projects p where p.id = ${projectId}`;
}

/** The project's words, over ours, in the first of `wanted` that we speak, best first, else in the project's language. */
export function wordingOf(
  project: Pick<WordedProject, 'defaultLocale' | 'texts'> | undefined,
  wanted: readonly (string | null)[],
): ProjectWording {
  const locale = shippedLocale([...wanted, project?.defaultLocale ?? null]) ?? 'en';
  const last = project?.texts[locale];
  return { wording: new Wording(locale, last?.texts), version: last?.version ?? null };
}

/** Finds the words for a reader: a project's own over ours. */
@Injectable()
export class ProjectWordings {
  constructor(private readonly database: Database) {}

  /** See `wordingOf`. */
  of(scope: ProjectScope, wanted: readonly (string | null)[]): Promise<ProjectWording> {
    return this.database.transaction(scope, async () => {
      const [[project]] = await this.database.together(readingWordedProject(scope));
      return wordingOf(project, wanted);
    });
  }
}
