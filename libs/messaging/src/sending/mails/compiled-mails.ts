import { LRUCache } from 'lru-cache';
import type { CampaignMail } from './campaign-mail.js';

/** Some hundreds of usual mails. */
const KEPT_CHARACTERS = 32_000_000;

/** Mails that were compiled, or are just being, by a key that tells apart what is compiled apart. */
export class CompiledMails {
  readonly #mails = new LRUCache<string, Promise<CampaignMail>>({ maxSize: KEPT_CHARACTERS });

  of(key: string, compile: () => Promise<CampaignMail>): Promise<CampaignMail> {
    const known = this.#mails.get(key);
    if (known !== undefined) return known;
    const compiling = compile();
    this.#mails.set(key, compiling, { size: 1 });
    compiling.then(
      (mail) => this.#mails.set(key, compiling, { size: sizeOf(mail) }),
      () => this.#mails.delete(key),
    );
    return compiling;
  }
}

const sizeOf = ({ template: { parts } }: CampaignMail): number => 1 + parts.html.length + parts.text.length;
