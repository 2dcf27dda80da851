/** What threads are started with now: the same object as long as packages and search parameters are the same. */

import type { StoredLinks } from '../../model/service.ts'
import type { Definitions } from '../../packages/service.ts'
import type { Registry, WordMode } from '../../search/service.ts'
import type { Validator } from '../../validation/service.ts'
import type { ThreadData } from './thread-data.ts'

export interface ThreadDataParts {
  readonly definitions: Definitions
  readonly registry: Pick<Registry, 'source'>
  readonly links: StoredLinks
  readonly types: readonly string[]
  readonly wordMode: WordMode
  readonly validator: Validator | undefined
}

export const threadDataOf = (parts: ThreadDataParts): (() => ThreadData) => {
  const { definitions, registry, links, types, wordMode, validator } = parts
  let made: ThreadData | undefined
  return () => {
    if (made?.fingerprint !== definitions.fingerprint || made.extraction !== registry.source)
      made = {
        links,
        types,
        packages: definitions.packages,
        fingerprint: definitions.fingerprint,
        wordMode,
        extraction: registry.source,
        validator: validator?.remote,
      }
    return made
  }
}
