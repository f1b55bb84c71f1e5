import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { ProjectScope } from '#kernel';
import { contentIn, translationFor } from '../content/document/translated-content.js';
import { checkedData } from '../content/merge/template-variables.js';
import type { ResolvedContent } from '../templates/template.js';
import { TemplateContentsQuery, type UsableContent } from '../templates/template-contents.query.js';
import { translatedContent } from '../templates/template-reviews.service.js';
import type { AskedTemplate, MessageParts, NewMessage } from './message.js';

/** The content of a template that a message refers to. */
export type MessageTemplate = Omit<UsableContent, 'content'>;

/** A message with what its template says. */
export interface FilledMessage {
  readonly message: NewMessage;
  /** Null where its content is its own, or the template has none for it. */
  readonly template: MessageTemplate | null;
  /** Dotted names of declared values of `data` that it may lack. */
  readonly optional: readonly string[];
  /** Keyed by field. */
  readonly faults: Readonly<Record<string, string>>;
}

/**
 * Finds the contents of templates. What was found is kept, and may have been replaced since: `isOutdated` is asked with the other facts
 * that decide, so that an accepted message costs no more questions for its template.
 */
@Injectable()
export class MessageTemplatesService {
  readonly #found = new LRUCache<string, MessageTemplate>({ max: 1_000 });

  constructor(private readonly contents: TemplateContentsQuery) {}

  /** The message as its template, if it names one, makes it; all that is wrong with that. */
  async fill(scope: ProjectScope, message: NewMessage): Promise<FilledMessage> {
    const { template: asked } = message;
    if (asked == null) return { message, template: null, optional: [], faults: {} };
    const besides = asked.besides.map((field) => [field, 'must not be given together with templateKey']);
    const faults = Object.fromEntries(besides) as Record<string, string>;
    const found = await this.#find(scope, asked);
    if (found === null)
      return {
        message,
        template: null,
        optional: [],
        faults: {
          ...faults,
          templateKey:
            asked.version === null
              ? 'is no template that is published'
              : `is no template with version ${asked.version}`,
        },
      };
    const { content, ...template } = found;
    if (template.kind !== 'MESSAGE')
      faults['templateKey'] = `is a template of kind ${template.kind}: messages need one of kind MESSAGE`;
    const purpose = message.purpose ?? content.purpose;
    if (purpose === null) faults['purpose'] = 'is required: the template has none';
    const checked = checkedData(content.variables, message.data);
    Object.assign(faults, checked.faults);
    const data = checked.faults === undefined ? checked.data : message.data;
    const optional = content.variables.filter(({ required }) => !required).map(({ name }) => name);
    return {
      message: { ...message, ...partsIn(content, message.locale), purpose, data },
      template,
      optional,
      faults,
    };
  }

  async #find(scope: ProjectScope, { key, version }: AskedTemplate): Promise<UsableContent | null> {
    const name = nameOf(scope, { key, version });
    const known = this.#found.get(name);
    const content = known && (await this.contents.withId(scope, known.contentId));
    if (known !== undefined && content != null) return { ...known, content };
    const found = await this.contents.of(scope, key, version);
    if (found === null) return null;
    const { content: _content, ...template } = found;
    this.#found.set(name, template);
    return found;
  }

  /** Forgets what was found of a template that has other content since. */
  forget(scope: ProjectScope, asked: AskedTemplate): void {
    this.#found.delete(nameOf(scope, asked));
  }

  /** The parts of a mail whose message refers to content of a template. Throws an error where that is not there. */
  async partsOf(scope: ProjectScope, contentId: string, locale: string | null): Promise<MessageParts> {
    const content = await this.contents.withId(scope, contentId);
    if (content === null) throw new Error('The content of the template is not there.');
    return partsIn(content, locale);
  }
}

const nameOf = ({ environmentId }: ProjectScope, { key, version }: Pick<AskedTemplate, 'key' | 'version'>) =>
  `${environmentId}/${key}/${version}`;

/** Condition that a template, by `key` or alias, has another content in use, or another one of `version`, than `contentId`. */
export const isOutdated = (
  { environmentId }: ProjectScope,
  { key, version, contentId }: Readonly<Record<'key' | 'version' | 'contentId', RawBuilder<unknown>>>,
): RawBuilder<boolean> => sql`not exists (
    select 1 from messaging.templates t
    where t.environment_id = ${environmentId} and (t.template_key = ${key} or t.alias = ${key}) and ${contentId} = case
      when ${version} is null then t.content_id
      else (
        select c.id from messaging.template_contents c
        where c.environment_id = ${environmentId} and c.template_id = t.id and c.version = ${version}
        order by c.created_at desc, c.id desc limit 1
      )
    end
  )`;

/** The language (BCP 47) of content; `translation`: as a template's parts have it, undefined where it is a message's own. */
export const languageOf = (
  translation: string | null | undefined,
  ofMessage: string,
  ofProject: string,
): string => (translation === undefined ? ofMessage : (translation ?? ofProject));

function partsIn(content: ResolvedContent, locale: string | null): MessageParts {
  const translated = translatedContent(content);
  const translation = translationFor(translated, locale);
  const { subject, previewText, contentJson, contentText: text } = contentIn(translated, translation);
  return { subject, previewText, contentJson, text, translation };
}
