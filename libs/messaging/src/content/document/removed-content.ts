import type { MergeTagMask } from '../merge/merge-tags.js';

/** As many different pieces of a mail as are named, and as much of each as is shown. */
const MOST = 100;
const SHOWN = 80;

/** Collects what sanitising takes from a mail, for the check that names it: `contentJson.blocks[2].html: <script>`. */
export class RemovedContent {
  readonly #found = new Set<string>();

  constructor(private readonly mask: MergeTagMask) {}

  /** Takes note of masked text that stands at a path of the content and does not arrive. */
  at(path: string): (masked: string) => void {
    return (masked) => {
      const what = this.mask.restore(masked, '{').replaceAll(/\s+/g, ' ').trim();
      const words = what.length > SHOWN ? `${what.slice(0, SHOWN).trimEnd()}…` : what;
      if (this.#found.size < MOST) this.#found.add(`${path}: ${words}`);
    };
  }

  get list(): readonly string[] {
    return [...this.#found];
  }
}
