/** `server config` refuses the settings that a start refuses, with the same words, so that they are found before it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { firstParty } from '../../plugins/index.ts'
import { createWorld, type Ran } from '../support/world.ts'

const server = async (line: string, toml: string): Promise<Ran> => {
  const world = createWorld({ plugins: firstParty, argv: line.split(' ').filter((word) => word !== '') })
  try {
    writeFileSync(join(world.folder, 'server.toml'), `[database]\nkind = "memory"\n${toml}\n`)
    return await world.run()
  } finally {
    world.remove()
  }
}

for (const [toml, about] of [
  ['[rate_limit]\nenabled = true\nburst = 1', 'burst'],
  ['[rate_limit]\nenabled = true\n[rate_limit.cost]\nexport = 1000', 'burst'],
  ['[cors]\norigins = ["x"]', 'origin'],
  ['[cors]\norigins = ["https://a/path"]', 'origin'],
  ['[import]\nsources = ["relative"]', 'sources'],
  ['[import]\nsources = ["http://x/"]', 'sources'],
  ['[server]\ntrusted_proxy_peers = ["10.0.0.0/33"]', 'trusted_proxy_peers'],
  ['[server]\ntrusted_proxy_peers = ["x"]', 'trusted_proxy_peers'],
  ['[smart]\nenabled = true\n[smart.oidc]\nissuer = "http://x"\nclient_id = "a"', 'issuer'],
  ['[conformance]\npackages = ["x@"]', 'x@'],
  ['[server]\npublic_url = "http://u:p@x"', 'public_url'],
  ['[server]\npublic_url = "http://u@x/fhir"', 'public_url'],
] as const)
  test(`a start and config refuse ${toml.replaceAll('\n', ' ')}`, async () => {
    const started = await server('', toml)
    assert.is(started.code, 2, started.stderr)
    assert.match(started.stderr, about)
    const { code, stdout, stderr } = await server('config', toml)
    assert.equal({ code, stdout, stderr }, { code: 2, stdout: '', stderr: started.stderr })
  })

test('settings that a start takes are printed', async () => {
  const { code, stdout, stderr } = await server('config', '[server]\npublic_url = "https://x.example/a@b"')
  assert.is(code, 0, stderr)
  assert.is(stderr, '')
  assert.match(stdout, 'https://x.example/a@b')
})

test.run()
