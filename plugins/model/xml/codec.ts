/**
 * Resources as JSON and as XML. What is stored is JSON: bodies in XML are read into it, and answers in XML are made of it.
 * The parser is imported with the first resource in XML. https://hl7.org/fhir/R4/xml.html
 */
import type { Definitions } from '../../packages/service.ts'
import { parseExact } from '../json/exact.ts'
import { NotLoaded } from '../snapshot/element-index.ts'
import { decodeXml } from './decode-xml.ts'
import { createXmlShapes } from './shapes.ts'

export interface XmlCodec {
  /** The JSON of a resource in XML. Numbers keep their digits. Throws 400 with the place of what is wrong. */
  toJson(bytes: Uint8Array): Promise<string>
  /** The XML of a resource in JSON, which is valid JSON. Throws 406 for what XML cannot hold. */
  toXml(json: string, pretty: boolean): Promise<string>
  /** Local name and namespace of the first element; undefined where it is not well-formed up to there. */
  rootOf(bytes: Uint8Array): Promise<{ readonly name: string; readonly namespace: string } | undefined>
}

export interface XmlCodecParts {
  readonly definitions: Pick<Definitions, 'find' | 'fingerprint'>
  /** True for the name of a resource type. */
  readonly isType: (name: string) => boolean
}

export const createXmlCodec = ({ definitions, isType }: XmlCodecParts): XmlCodec => {
  const shapes = createXmlShapes(definitions)

  /** Repeats `work` after each type that it needs and that is not loaded yet. */
  const loading = async <T>(work: () => T): Promise<T> => {
    const loaded = new Set<string>()
    for (;;)
      try {
        return work()
      } catch (error) {
        if (!(error instanceof NotLoaded) || loaded.has(error.type)) throw error
        loaded.add(error.type)
        await shapes.load(error.type)
      }
  }

  return {
    async toJson(bytes) {
      const text = decodeXml(bytes)
      const { readXml } = await import('./read-xml.ts')
      return JSON.stringify(await loading(() => readXml({ shapes, isType }, text)))
    },
    async toXml(json, pretty) {
      const { writeXml } = await import('./write-xml.ts')
      const resource = parseExact(json)
      return loading(() => writeXml({ shapes, isType }, resource, pretty))
    },
    async rootOf(bytes) {
      const { rootOf } = await import('./root-of.ts')
      return rootOf(bytes)
    },
  }
}
