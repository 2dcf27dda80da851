/** A plugin for tests of settings and the command line: each kind of flag, a secret, a route, a hook, a command. */
import { Command, Flags } from '@oclif/core'
import { Type } from 'typebox'
import { commandContext } from '../../kernel/command.ts'
import { type AnyPlugin, definePlugin, type Lifecycle } from '../../kernel/index.ts'

export class Stock extends Command {
  static override summary = 'Prints the stock.'
  static override flags = { all: Flags.boolean({ description: 'Also what is sold out.' }) }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Stock)
    const { settings, plugins, stdout } = commandContext(this)
    const { kind } = settings().section('shop')
    stdout.write(`${kind} ${flags.all ? 'all' : 'some'} ${plugins.map((plugin) => plugin.name).join(',')}\n`)
    if (kind === 'postgres') this.exit(7)
    if (kind === 'file') this.error('the stock cannot be read', { exit: 2 })
  }
}

/** Makes a mistake on purpose: reads settings before it has parsed its flags. */
class Hasty extends Command {
  static override summary = 'Asks too early.'

  override async run(): Promise<void> {
    commandContext(this).settings()
  }
}

export const shop = (lifecycle?: Lifecycle, setup?: () => void): AnyPlugin =>
  definePlugin({
    name: 'shop',
    description: 'Sells things',
    config: {
      shop: Type.Object({
        kind: Type.Union([Type.Literal('memory'), Type.Literal('file'), Type.Literal('postgres')], {
          default: 'memory',
          flagValues: { 'in-memory': 'memory' },
          description: 'Where the stock is kept.',
        }),
        path: Type.Optional(
          Type.String({
            flag: 'file',
            flagSets: { 'shop.kind': 'file' },
            sample: '/var/lib/shop',
            description: 'Path of the stock file.',
          }),
        ),
        url: Type.Optional(
          Type.String({
            flag: 'postgres',
            flagSets: { 'shop.kind': 'postgres' },
            secret: true,
            env: 'SHOP_URL',
            description: 'Where PostgreSQL is.',
          }),
        ),
        tills: Type.Integer({ default: 2, minimum: 1, flag: 'tills', env: 'SHOP_TILLS', description: 'Open tills.' }),
        open: Type.Boolean({ default: false, flag: 'open', description: 'Whether the door is open.' }),
        goods: Type.Array(Type.String(), {
          default: [],
          flag: 'good',
          env: 'SHOP_GOODS',
          description: 'What is sold.',
        }),
        key: Type.Optional(
          Type.String({
            secret: true,
            fileForbidden: true,
            minLength: 8,
            env: 'SHOP_KEY',
            description: 'The key of the door.',
          }),
        ),
        clients: Type.Record(Type.String(), Type.Object({ credit: Type.Optional(Type.Number()) }), {
          default: {},
          description: 'Credit per client.',
        }),
      }),
    },
    commands: { stock: async () => Stock, hasty: async () => Hasty },
    setup({ hooks, routes }) {
      setup?.()
      hooks.beforeRequest.tapPromise('look at the door', async () => undefined)
      routes((app, _options, done) => {
        app.get('/metadata', async () => ({ shop: true }))
        done()
      })
      return lifecycle
    },
  })
