import { SHIPPED_LOCALES } from '#kernel';
import { html, type Html } from '../html.js';
import { LANGUAGE_PARAMETER, type PageView, say } from './page-view.js';

let namedLanguages: readonly { readonly locale: string; readonly name: string }[] | undefined;

/** Shows the page in another language: links, without a script. The form of the page keeps the choice in its address. */
export function languageSwitch(view: PageView): Html {
  const current = view.wording.locale;
  return html`<details class="languages unprinted">
    <summary>
      <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.75" aria-hidden="true">
        <circle cx="12" cy="12" r="9" />
        <path d="M3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18" />
      </svg>
      <span class="spoken">${say(view, 'page.language')}</span>
      <span>${ownName(current)}</span>
    </summary>
    <nav aria-label="${view.wording.text('page.language')}">
      <ul role="list">
        ${languages().map(({ locale, name }) => languageItem(locale, name, locale === current))}
      </ul>
    </nav>
  </details>`;
}

function languageItem(locale: string, name: string, isCurrent: boolean): Html {
  return html`<li>
    <a
      href="?${LANGUAGE_PARAMETER}=${locale}"
      lang="${locale}"
      hreflang="${locale}"
      rel="nofollow"
      ${isCurrent ? html`aria-current="true"` : null}
      ><bdi>${name}</bdi></a
    >
  </li>`;
}

/** The languages in their own names, in the order of these. The first page asks for them: they take Node 3 MB. */
function languages() {
  namedLanguages ??= SHIPPED_LOCALES.map((locale) => ({ locale, name: ownName(locale) })).sort((a, b) =>
    a.name.localeCompare(b.name, 'en'),
  );
  return namedLanguages;
}

function ownName(locale: string): string {
  // Beside the Traditional one, `中文` would say which it is to nobody.
  const shown = locale === 'zh' ? 'zh-Hans' : locale;
  const name = new Intl.DisplayNames(locale, { type: 'language' }).of(shown) ?? locale;
  const [first = '', ...rest] = name;
  return `${first.toLocaleUpperCase(locale)}${rest.join('')}`;
}
