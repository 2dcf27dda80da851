/**
 * Compiles what the installed packages define: resource types, their elements and references. Also exports the parsers that
 * other plugins share: JSON, dates, decimals and FHIRPath.
 */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Definitions } from '../packages/service.ts'
import * as errors from './errors.ts'
import { createModel, Model } from './model.ts'

export default definePlugin({
  name: 'model',
  description: 'Knows the resource types of the installed packages',
  needs: { database: Database, definitions: Definitions },
  provides: [Model],
  errors,
  setup({ needs: { database, definitions }, provide, busy }) {
    const model = createModel()
    provide(Model, model.service)
    return {
      async start(signal) {
        busy('reading the definitions')
        await model.open(database, definitions, signal)
      },
    }
  },
})
