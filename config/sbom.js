// Writes the bill of materials of an installation without development packages to standard output (CycloneDX 1.5): npm run -s sbom
// npm's own `--omit dev` leaves packages out that development packages need as well, such as zod: all are asked for and these kept.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const installed = new Set(
  Object.entries(packages)
    .filter(([path, { dev, link }]) => path.includes('node_modules/') && !dev && !link)
    .map(([path, { name, version }]) => `${name ?? path.split('node_modules/').at(-1)}@${version}`),
);
const options = ['--package-lock-only', '--sbom-type', 'application', '--sbom-format', 'cyclonedx'];
const all = JSON.parse(execFileSync('npm', ['sbom', ...options], { encoding: 'utf8', maxBuffer: 2 ** 28 }));
const root = all.metadata.component['bom-ref'];
const kept = (reference) => reference === root || components.some((each) => each['bom-ref'] === reference);
const components = all.components.filter(({ name, version }) => installed.has(`${name}@${version}`));
const dependencies = all.dependencies
  .filter(({ ref }) => kept(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter(kept) }));
all.metadata.component.name = JSON.parse(readFileSync('package.json', 'utf8')).name;
console.log(JSON.stringify({ ...all, components, dependencies }, null, 2));
