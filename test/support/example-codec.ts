/** The codec of XML with the definitions of hl7.fhir.r4.examples, without a server. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createXmlCodec, type XmlCodec } from '../../plugins/model/service.ts'
import { examplesFolder } from './stub-definitions.ts'

export const exampleNames: readonly string[] = readdirSync(examplesFolder).filter(
  (name) => name.endsWith('.json') && name !== 'package.json' && !name.startsWith('.'),
)
export const readExample = (name: string): string => readFileSync(join(examplesFolder, name), 'utf8')

interface Named {
  readonly url: string
  readonly kind: string
  readonly type: string
  readonly abstract: boolean
  readonly derivation?: string
}

export const createExampleCodec = (): XmlCodec => {
  const names = new Map<string, string>()
  const types = new Set<string>()
  for (const name of exampleNames.filter((one) => one.startsWith('StructureDefinition-'))) {
    const { url, kind, type, abstract, derivation } = JSON.parse(readExample(name)) as Named
    if (!names.has(url)) names.set(url, name)
    if (kind === 'resource' && !abstract && derivation !== 'constraint') types.add(type)
  }
  return createXmlCodec({
    definitions: {
      fingerprint: 'examples',
      async find(type, url) {
        const name = names.get(url)
        return name === undefined
          ? undefined
          : { package: 'hl7.fhir.r4.examples', type, id: '', url, json: readExample(name) }
      },
    },
    isType: (name) => types.has(name),
  })
}
