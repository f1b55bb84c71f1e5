import type { Pagination } from './page.js';

/**
 * The `Link` header (RFC 8288) of a page: its neighbours, with all other query parameters as they were
 * sent; a walk by `after` goes forward alone.
 */
export function linkHeader(
  publicUrl: string,
  requestTarget: string,
  { page, hasNext, hasPrevious, next }: Pagination,
): string {
  const target = new URL(requestTarget, publicUrl);
  const links: string[] = [];
  const add = (relation: string, parameter: 'page' | 'after', value: string): void => {
    const query = new URLSearchParams(target.search);
    query.set(parameter, value);
    links.push(`<${publicUrl}${target.pathname}?${query.toString()}>; rel="${relation}"`);
  };
  if (next !== undefined) {
    if (next !== null) add('next', 'after', next);
    return links.join(', ');
  }
  if (hasPrevious) add('prev', 'page', String(page - 1));
  if (hasNext) add('next', 'page', String(page + 1));
  return links.join(', ');
}

/** Whether an answer is a page of a list. */
export function isPage(answer: unknown): answer is { readonly pagination: Pagination } {
  if (typeof answer !== 'object' || answer === null || !('pagination' in answer)) return false;
  const { pagination } = answer;
  return typeof pagination === 'object' && pagination !== null && 'hasNext' in pagination;
}
