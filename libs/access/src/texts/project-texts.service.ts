import { Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import {
  defaultTexts,
  messageFaults,
  type ShippedLocale,
  type WordingKey,
  wordingKeys,
  type WordingOverrides,
} from '#wording';
import type { AccessTables } from '../access-tables.js';
import { ProjectRepository } from '../projects/project.repository.js';

/** What a project says to readers in one language. */
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

/** By key; null goes back to our text, what is left out stays. */
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
