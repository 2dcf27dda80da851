/**
 * Statements on `cluster_member`, the servers that follow the one that writes. They are run by every server, each for its
 * own row, and change nothing else, so they are not fenced.
 */
import pg from 'pg'
import type { FeedPosition } from '../feed/change-feed.ts'
import type { Claimant } from '../lease/lease-port.ts'

const text = (value: string): string => pg.escapeLiteral(value)

/** Counts the beat of a server up, and records how far it has followed. */
export const attend = (self: Claimant, role: 'standby' | 'replica', at?: FeedPosition): string => `BEGIN;
SET LOCAL synchronous_commit = off;
INSERT INTO cluster_member (server, role, host, pid, build, beat, epoch, seq, at)
  VALUES (${text(self.server)}, ${text(role)}, ${text(self.host)}, ${self.pid}, ${text(self.build)}, 0, ${at?.epoch ?? 0}, ${at?.seq ?? 0}, clock_timestamp())
  ON CONFLICT (server) DO UPDATE SET beat = cluster_member.beat + 1, epoch = excluded.epoch, seq = excluded.seq, at = excluded.at;
COMMIT`

export const dismiss = (servers: readonly string[]): string =>
  `DELETE FROM cluster_member WHERE server IN (${servers.map(text).join(', ')})`
