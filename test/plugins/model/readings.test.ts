/**
 * What the readers of the model make of all definitions of R4, of examples with each element in each of its shapes, and of
 * drawn texts, by digest. A digest that changes means that what is indexed, refused or patched changes. READINGS=folder
 * writes the lines there, to be compared with those of another commit. With ALL_EXAMPLES=1 it is all examples, and four
 * times as many texts.
 */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { isChosen, readChosen } from '../../support/chosen-examples.ts'
import { r4Files, r4Json } from '../validation/r4.ts'
import { type Corpus, READINGS } from './readings.ts'

const DEFINITIONS = /^(?:StructureDefinition|SearchParameter|CompartmentDefinition|ValueSet|CodeSystem)-/

const corpus: Corpus = {
  definitions: r4Files()
    .filter((file) => DEFINITIONS.test(file))
    .map(r4Json),
  resources: r4Files()
    .filter((file) => !DEFINITIONS.test(file) && isChosen(file))
    .map((file) => JSON.parse(readChosen(file))),
  share: process.env.ALL_EXAMPLES === undefined ? 0.25 : 1,
}

const OF_DEFINITIONS = {
  catalog: '7728 e3e232af4b1ae860',
  elements: '7790 acc814ecc58fdcf4',
  fields: '653 db09e346c7831556',
  profileTrees: '1310 6425df2936f55e07',
  searchDefinitions: '4849 51dce8c3397868ed',
}
const OF_ALL = {
  ...OF_DEFINITIONS,
  extraction: '866 93dfd71208090f28',
  validation: '866 959894c7053590d5',
  invariants: '12000 ed6d23061d34eab8',
  expressions: '48000 3c5f2954110f1d5b',
  patchPaths: '51471 83ec809cd11611f4',
  dates: '85968 abea0e3e43e63bfe',
}
const OF_PART = {
  ...OF_DEFINITIONS,
  extraction: '609 f2e8f497e3309b19',
  validation: '609 6331c01c4025f421',
  invariants: '3000 c0829354fce12451',
  expressions: '12000 1a4870e110abd2d8',
  patchPaths: '28971 a9fe75bd621cfd05',
  dates: '15963 c3cc518cb0ada7d8',
}

/** Number of lines, and the beginning of the SHA-256 of them. */
const EXPECTED: Readonly<Record<string, string>> = process.env.ALL_EXAMPLES === undefined ? OF_PART : OF_ALL

const folder = process.env.READINGS

for (const [name, read] of Object.entries(READINGS))
  test(name, async () => {
    const digest = createHash('sha256')
    const file = folder === undefined ? undefined : createWriteStream(join(folder, name))
    let count = 0
    for await (const line of read(corpus)) {
      digest.update(`${line}\n`)
      file?.write(`${line}\n`)
      count += 1
    }
    assert.is(`${count} ${digest.digest('hex').slice(0, 16)}`, EXPECTED[name])
  })

test.run()
