/** One run of the command line, from arguments to exit code. Spec: Command line. */
import { fileURLToPath } from 'node:url'
import type { Command, Config } from '@oclif/core'
import { giveContext } from '../kernel/command.ts'
import { BUILD } from '../kernel/index.ts'
import { closestKey } from '../kernel/settings/closest-key.ts'
import { MASK } from '../kernel/settings/secrets.ts'
import { configIn, type ParsedArguments, readArgv } from './argv.ts'
import { commandsOf, type LoadCommand } from './commands.ts'
import { createContext, type OwnContext } from './context.ts'
import type { FlagDefinitions } from './flags.ts'
import { type Gathered, gather, gatherFirstParty } from './gather.ts'
import { type GivenFlags, refuseContradictions } from './given-flags.ts'
import { plainFlags } from './plain-flags.ts'
import { serve } from './serve.ts'
import { missingArguments, REFUSED, type StartFailure, startFailureOf } from './start-failure.ts'
import type { World } from './world.ts'

const DESCRIPTION = 'A FHIR R4 server.'

/** oclif's configuration of this program: no manifest, no oclif plugins. */
const loadConfig = async (): Promise<Config> => {
  const { Config } = await import('@oclif/core')
  const root = fileURLToPath(new URL('..', import.meta.url))
  const oclif = { bin: 'server', dirname: 'server', topicSeparator: ' ' }
  const pjson = { name: 'server', version: BUILD, description: DESCRIPTION, oclif }
  return Config.load({ root, isRoot: true, pjson: pjson as never, userPlugins: false, devPlugins: false })
}

/** The part of oclif's `Command` that is wrapped to add flags of settings. */
interface Parsing {
  parse(options?: { flags?: FlagDefinitions }, argv?: string[]): Promise<{ flags: Record<string, unknown> }>
  _run(): Promise<unknown>
}

const NOTHING: StartFailure = { lines: [], code: 0 }
const SHORTEST_SECRET = 4 // characters; masking shorter ones would mask words

const masked = (line: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .toSorted((a, b) => b.length - a.length)
    .reduce((text, secret) => text.replaceAll(secret, MASK), line)

/** Messages of drivers quote their input, which may hold secrets. */
const maskedFailure = (error: unknown, context: OwnContext): StartFailure => {
  const { lines, code } = startFailureOf(error)
  return { lines: lines.map((line) => masked(line, context.secrets())), code }
}

/** Runs the class with the flags of settings added to its own, which win where names are equal. */
const runCommand = async (
  Loaded: Command.Class,
  { command: name = 'serve', rest }: ParsedArguments,
  world: World,
  gathered: Gathered,
): Promise<StartFailure> => {
  const context = createContext(world, gathered)
  const Concrete = Loaded as unknown as new (argv: string[], config: Config) => Command
  const command = giveContext(new Concrete([...rest], await loadConfig()), context) as unknown as Parsing
  const parse = command.parse.bind(command)
  const { configFlag, settingsFlags } = await import('./flags.ts')
  const ofSettings = settingsFlags(gathered.settings)
  command.parse = async (options = Loaded as { flags?: FlagDefinitions }, argv) => {
    const own = options.flags ?? {}
    const parsed = await parse({ ...options, flags: { ...configFlag, ...ofSettings, ...own } }, argv)
    const given = Object.fromEntries(
      Object.entries(parsed.flags).filter(([name]) => Object.hasOwn(ofSettings, name) && !Object.hasOwn(own, name)),
    ) as GivenFlags
    refuseContradictions(gathered.settings, given)
    context.given(given)
    return parsed
  }
  try {
    await command._run()
    return NOTHING
  } catch (error) {
    const missing = missingArguments(error)
    if (missing !== undefined) {
      const look = { color: world.stderr.isTTY === true }
      const { helpAbout } = await import('./help.ts')
      world.stderr.write(`server: server ${name} needs an argument: ${missing}\n\n`)
      world.stderr.write(helpAbout(await loadConfig(), name, Loaded, gathered.settings, look))
      return { lines: [], code: REFUSED }
    }
    return maskedFailure(error, context)
  }
}

/** What `server` without a command is started with, nearly always. Undefined where its arguments are oclif's to read. */
const runServe = async (
  { rest }: ParsedArguments,
  world: World,
  gathered: Gathered,
): Promise<StartFailure | undefined> => {
  const given = plainFlags(gathered.settings, rest)
  if (given === undefined) return undefined
  const context = createContext(world, gathered)
  try {
    refuseContradictions(gathered.settings, given)
    context.given(given)
    await serve(context)
    return NOTHING
  } catch (error) {
    return maskedFailure(error, context)
  }
}

const find = (commands: ReadonlyMap<string, LoadCommand>, name: string): LoadCommand | string => {
  const near = closestKey(name, commands.keys())
  const hint = near === undefined ? `there are ${[...commands.keys()].join(', ')}` : `did you mean ${near}?`
  return commands.get(name) ?? `there is no command ${name}; ${hint}`
}

/** Help must work with invalid settings: it then prints the fault and describes the first-party plugins. */
const gatherForHelp = async (world: World, config: string | undefined): Promise<Gathered> => {
  try {
    return await gather(world, config)
  } catch (error) {
    for (const line of startFailureOf(error).lines) world.stderr.write(`server: ${line}\n`)
    return gatherFirstParty(world)
  }
}

const dispatch = async (world: World): Promise<StartFailure> => {
  const asked = readArgv(world.argv)
  const config = configIn(asked.rest)
  const gathered = asked.help ? await gatherForHelp(world, config) : await gather(world, config)
  const commands = commandsOf([...world.firstParty, ...gathered.thirdParty])
  const load = asked.command === undefined ? undefined : find(commands, asked.command)
  if (typeof load === 'string') return { lines: [load], code: REFUSED }
  if (load !== undefined && !asked.help) {
    const served = asked.command === 'serve' ? await runServe(asked, world, gathered) : undefined
    return served ?? runCommand(await load(), asked, world, gathered)
  }
  const oclif = await loadConfig()
  const look = { color: world.stdout.isTTY === true }
  const { helpAbout, helpOverall } = await import('./help.ts')
  world.stdout.write(
    load === undefined
      ? await helpOverall(oclif, commands, gathered.settings, look)
      : helpAbout(oclif, asked.command!, await load(), gathered.settings, look),
  )
  return NOTHING
}

/** Returns the exit code. Never throws. A second signal ends the process at once. */
export const run = async (world: World): Promise<number> => {
  const before = process.exitCode // oclif sets it when a command throws
  const { lines, code } = await dispatch(world).catch(startFailureOf)
  for (const line of lines) world.stderr.write(`server: ${line}\n`)
  process.exitCode = before
  return code
}
