/** The types that definitions say can be indexed are those that the index converts. */
import { readdirSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { isIndexable } from '../../../../plugins/search/definition/indexed-types.ts'
import { type IndexKind, MIME_TYPE, OWN_CANONICAL } from '../../../../plugins/search/definition/kind.ts'
import { createConverters } from '../../../../plugins/search/index/convert/converters.ts'
import { createHasher } from '../../../../plugins/search/index/hash.ts'
import { examplesFolder } from '../../../support/stub-definitions.ts'

const KINDS: readonly IndexKind[] = ['token', 'reference', 'date', 'string', 'quantity', 'uri', 'position']
const STRUCTURE = /^StructureDefinition-(\w+)\.json$/

test('for every type of R4 and every kind there is a converter where a parameter may name the type, and nowhere else', () => {
  const named = readdirSync(examplesFolder).flatMap((name) => STRUCTURE.exec(name)?.[1] ?? [])
  const types = [...named, MIME_TYPE, OWN_CANONICAL, 'Location.position', 'Resource', 'Extension', 'constructor']
  assert.ok(named.includes('CodeableConcept') && named.includes('boolean'))
  const converters = createConverters(createHasher(0))
  for (const kind of KINDS)
    for (const type of types)
      assert.is(converters.of(kind, type) !== undefined, isIndexable(kind, type), `${type} as ${kind}`)
})

test.run()
