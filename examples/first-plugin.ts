/**
 * A complete plugin: a setting, a command, a hook and a route. Published as @acme/first-plugin, it is enabled by
 * `[plugins] load = ["@acme/first-plugin"]`. In a package of its own it imports from 'refhir'.
 */
import { Type } from 'typebox'
import { commandContext, definePlugin } from '../kernel/index.ts'

const loadCommand = async () => {
  const { Command } = await import('@oclif/core')
  return class Tally extends Command {
    override async run() {
      await this.parse(Tally)
      const { settings, stdout } = commandContext(this)
      stdout.write(`counts changes of ${settings().section('plugin.tally').type}\n`)
    }
  }
}

export default definePlugin({
  name: 'tally',
  description: 'Counts the changes since the start',
  api: '^2.0.0',
  config: { tally: Type.Object({ type: Type.String({ default: 'Patient', description: 'Resource type to count.' }) }) },
  commands: { tally: loadCommand },
  setup({ config: { tally }, hooks, routes }) {
    let count = 0
    hooks.onCommit.tap('count the changes', ({ changes }) => {
      count += changes.filter(({ next }) => next.type === tally.type).length
    })
    routes(async (app) => void app.get('/_tally', async () => ({ [tally.type]: count })))
  },
})
