/**
 * Compiles what the installed packages define: resource types, their elements and references. Also exports the parsers that
 * other plugins share: JSON, dates, decimals and FHIRPath.
 */
import { definePlugin } from '../../kernel/index.ts'
import { ChangeFeed, Database, isNote } from '../database/service.ts'
import { Definitions } from '../packages/service.ts'
import * as errors from './errors.ts'
import { createModel, Model } from './model.ts'
import { type PackageWatch, watchPackages } from './watch-packages.ts'

const RESTART = 75 // exit code that asks a supervisor to start the process again

export default definePlugin({
  name: 'model',
  description: 'Knows the resource types of the installed packages',
  needs: { database: Database, feed: ChangeFeed, definitions: Definitions },
  provides: [Model],
  errors,
  setup({ needs: { database, feed, definitions }, provide, busy, fatal, clock, log }) {
    const model = createModel()
    provide(Model, model.service)
    let watching: PackageWatch | undefined
    const onWait = (): void => busy('waiting for the catalog of the primary')
    const onChange = (): void => fatal(errors.PackagesChanged(), RESTART)
    const look = (): void => watching?.soon()
    feed.listen({
      name: 'packages',
      commit({ published }) {
        if (published.some((one) => isNote(one) && one.about === 'packages')) look()
      },
      gap: look,
    })
    return {
      async start(signal) {
        busy('reading the definitions')
        await model.open(database, definitions, { signal, onWait })
        if (database.isReader) watching = watchPackages({ database, definitions, clock, log, onChange })
      },
      stop: async () => watching?.stop(),
    }
  },
})
