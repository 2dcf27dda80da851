/** The fences of requests that a replica sends on: who may send them, where they end, and that none is sent twice. */
import type { Fence } from './fence.ts'

export const RELAY_FENCES: readonly Fence[] = [
  {
    name: 'the MAC of X-Relay is compared',
    file: 'plugins/cluster/relay/relay-mark.ts',
    check:
      'return timingSafeEqual(Buffer.from(mac), Buffer.from(expected)) && isIP(address) !== 0 ? relayed : undefined',
    planted: 'return isIP(address) !== 0 ? relayed : undefined',
    test: 'test/plugins/cluster/relay.test.ts',
  },
  {
    name: 'the MAC of X-Relay covers the method',
    file: 'plugins/cluster/relay/relay-mark.ts',
    check: '[server, at, address, method, url, id]',
    planted: '[server, at, address, url, id]',
    test: 'test/plugins/cluster/relay.test.ts',
  },
  {
    name: 'the MAC of X-Relay covers the URL',
    file: 'plugins/cluster/relay/relay-mark.ts',
    check: '[server, at, address, method, url, id]',
    planted: '[server, at, address, method, id]',
    test: 'test/plugins/cluster/relay.test.ts',
  },
  {
    name: 'the MAC of X-Relay covers the request id',
    file: 'plugins/cluster/relay/relay-mark.ts',
    check: '[server, at, address, method, url, id]',
    planted: '[server, at, address, method, url]',
    test: 'test/plugins/cluster/relay.test.ts',
  },
  {
    name: 'the MAC of X-Relay covers the address of the client',
    file: 'plugins/cluster/relay/relay-mark.ts',
    check: '[server, at, address, method, url, id]',
    planted: '[server, at, method, url, id]',
    test: 'test/plugins/cluster/relay.test.ts',
  },
  {
    name: 'the MAC of X-Relay covers the time',
    file: 'plugins/cluster/relay/relay-mark.ts',
    check: '[server, at, address, method, url, id]',
    planted: '[server, address, method, url, id]',
    test: 'test/plugins/cluster/relay.test.ts',
  },
  {
    name: 'X-Relay has the address of a client',
    file: 'plugins/cluster/relay/relay-mark.ts',
    check: ' && isIP(address) !== 0 ?',
    planted: ' ?',
    test: 'test/plugins/cluster/relay.test.ts',
  },
  {
    name: 'a wrong X-Relay is refused',
    file: 'plugins/cluster/relay/receive-relayed.ts',
    check: 'if (!relayed) throw RelayForged()',
    planted: 'if (!relayed) return undefined',
    test: 'test/plugins/cluster/relay.test.ts',
  },
  {
    name: 'an old X-Relay is refused',
    file: 'plugins/cluster/relay/receive-relayed.ts',
    check: 'if (Math.abs(clock.now() - relayed.at) > GOOD_MS) throw RelayExpired(GOOD_MS / 1000)',
    planted: '',
    test: 'test/plugins/cluster/relay.test.ts',
  },
  {
    name: 'a replica refuses what another replica has sent',
    file: 'plugins/cluster/relay/receive-relayed.ts',
    check: 'if (!isPrimary) throw RelayLoop()',
    planted: '',
    test: 'test/plugins/cluster/relay.test.ts',
  },
  {
    name: 'the pool does not send a request twice',
    file: 'plugins/cluster/relay/exchange.ts',
    check: "if (isGivenUp || controller !== undefined) throw new Error('not sent')",
    planted: "if (isGivenUp) throw new Error('not sent')",
    test: 'test/plugins/cluster/relay-faults.test.ts',
  },
  {
    name: 'a replica does not send a request again when a byte was sent',
    file: 'plugins/cluster/relay/exchange.ts',
    check: "if (controller === undefined) return reject(new NotSent('no byte was sent', { cause: error }))",
    planted: "if (answer === undefined) return reject(new NotSent('no byte was sent', { cause: error }))",
    test: 'test/plugins/cluster/relay-faults.test.ts',
  },
]
