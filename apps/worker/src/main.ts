import '#platform/lean-start';

await import('./program.js');
