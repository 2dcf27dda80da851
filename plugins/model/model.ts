/** The service Model, whose content is read when the plugin starts. */
import { defineService } from '../../kernel/index.ts'
import type { AloneOptions, Database } from '../database/service.ts'
import type { Definitions } from '../packages/service.ts'
import { loadTypeCatalog, type TypeCatalog } from './catalog.ts'
import { createReferenceWalker, type ReferenceWalker } from './references/reference-walker.ts'

/** The getters throw until the plugin has started. */
export interface Model {
  readonly catalog: TypeCatalog
  /** Finds the references of a resource. */
  readonly links: ReferenceWalker
}

export const Model = defineService<Model>('model')

export interface LateModel {
  readonly service: Model
  open(database: Database, definitions: Definitions, options?: Pick<AloneOptions, 'signal' | 'onWait'>): Promise<void>
}

export const createModel = (): LateModel => {
  let model: Model | undefined
  const opened = (): Model => {
    if (model === undefined) throw new Error('the model is asked for before its start')
    return model
  }
  return {
    service: {
      get catalog() {
        return opened().catalog
      },
      get links() {
        return opened().links
      },
    },
    async open(database, definitions, options) {
      const catalog = await loadTypeCatalog(database, definitions, options)
      model = { catalog, links: createReferenceWalker(catalog.links) }
    },
  }
}
