#!/usr/bin/env node
/**
 * The program's entry: plain JavaScript that an old Node can read, so that it can name the required version instead of
 * crashing.
 */
var have = process.versions.node.split('.').map(Number)
// From these versions on a server can choose which requests leave HTTP (shouldUpgradeCallback).
var isNewEnough = (have[0] === 22 && have[1] >= 21) || (have[0] === 24 && have[1] >= 9) || have[0] > 24
if (!isNewEnough) {
  process.stderr.write(
    'server: Node.js 22.21, 24.9 or newer is needed, this is ' +
      process.versions.node +
      '; in a checkout, npm start and npx refhir use the one that npm ci installs.\n',
  )
  process.exit(2)
}
import('./start.js')
