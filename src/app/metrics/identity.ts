import { authOutcomes, credentialKinds } from '#access/auth-counts'
import type { Identity } from '#access/identity'
import type { MetricRow, Sample } from '#app/metrics/row'

/** Authentication, sign-ins and the audit. With `IAM=off` they are absent or 0, except for the audit. */
export const identityRows: readonly MetricRow[] = [
  {
    name: 'ddb_authentications_total',
    type: 'counter',
    help: 'Authentications of requests and device connections',
    labels: {
      credential: '`bearer`, `dpop`, `api_key`, `proof` (a DPoP proof alone), `link`, `none`, `other`',
      outcome: '`accepted`, `challenged` (for a nonce), `refused`, `held_up` (too many attempts), `unavailable`',
    },
    read: ({ identity }) => (identity ? authentications(identity) : []),
  },
  {
    name: 'ddb_sign_ins_total',
    type: 'counter',
    help: 'Attempts to sign in or to renew a session; combinations without an attempt are left out',
    labels: {
      way: '`login`, `basic`, `refresh`, `basic_refresh`, `sign_up`, `totp`, `recovery`, `webauthn`',
      outcome:
        '`ok`, `second_factor`, or the reason of the failure: `unauthorized`, `too_many_requests`, `conflict`, …',
    },
    read: ({ identity }) =>
      [...(identity?.signIns ?? [])].map(({ way, outcome, count }) => ({ labels: { way, outcome }, value: count })),
  },
  {
    name: 'ddb_password_hashes_total',
    type: 'counter',
    help: 'Passwords that were hashed; this is done one at a time',
    read: ({ identity }) => identity?.passwords.counts.hashes ?? 0,
  },
  {
    name: 'ddb_password_hashes_refused_total',
    type: 'counter',
    help: 'Passwords that were not hashed because too many waited',
    read: ({ identity }) => identity?.passwords.counts.refused ?? 0,
  },
  {
    name: 'ddb_password_hashes_waiting',
    type: 'gauge',
    help: 'Passwords that wait to be hashed or are being hashed',
    read: ({ identity }) => identity?.passwords.waitingCount ?? 0,
  },
  {
    name: 'ddb_audit_entries_total',
    type: 'counter',
    help: 'Changes and sign-ins that were recorded, also refused ones',
    read: ({ audit }) => audit.counts.stored,
  },
  {
    name: 'ddb_audit_refusals_dropped_total',
    type: 'counter',
    help: 'Refused requests that were not recorded, because there were too many',
    read: ({ audit }) => audit.counts.dropped,
  },
]

function authentications({ auth }: Identity['metrics']): readonly Sample[] {
  return credentialKinds.flatMap((credential) =>
    authOutcomes.map((outcome) => ({ labels: { credential, outcome }, value: auth[credential][outcome] })),
  )
}
