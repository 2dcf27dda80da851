#!/usr/bin/env node
/* The program's entry: plain JavaScript that an old Node can read, so that it can say what it needs instead of crashing. */
var needed = [22, 18] // the first Node that runs our TypeScript sources as they are
var have = process.versions.node.split('.').map(Number)
if (have[0] < needed[0] || (have[0] === needed[0] && have[1] < needed[1])) {
  process.stderr.write(
    'server: Node.js ' +
      needed.join('.') +
      ' or newer is needed, this is ' +
      process.versions.node +
      '; npm start and npx server use the one that npm ci installs.\n',
  )
  process.exit(2)
}
import('./start.js')
