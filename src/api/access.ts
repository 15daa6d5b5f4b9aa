import type { Permission, RouteAccess, RouteEntry } from '#api/entry'

/** Who may call, in words and as OpenAPI has it. Contract 1.4, 2. */

/** One of several ways to be let in: the names of schemes, all of which are needed for it. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>

export const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The `token` of `GET /iam/token`.',
  },
  dpop: {
    type: 'http',
    scheme: 'DPoP',
    description:
      'The `accessToken` of `POST /auth/login`, bound to the key of the client (RFC 9449). Every request carries a proof ' +
      'besides; `Bearer` with such a token is refused.',
  },
  dpopProof: {
    type: 'apiKey',
    in: 'header',
    name: 'DPoP',
    description:
      'A JWT, made anew for each request and signed with ES256: `htm`, `htu`, `iat`, `jti`, the `nonce` of the latest ' +
      '`DPoP-Nonce`, and beside a token its hash as `ath`. Without a good nonce the answer is 400 `use_dpop_nonce`.',
  },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'A key of `POST /iam/api-keys`.' },
  basic: { type: 'http', scheme: 'basic', description: 'Name and password of a user, for `GET /iam/token` alone.' },
  link: {
    type: 'http',
    scheme: 'basic',
    description:
      'Of devices: `<tenant>/<deviceIdentifier>:<secret>`, or `<tenant>/*:<provisioningKey>`; `default/` may be left out.',
  },
  hook: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Hook-Signature',
    description:
      '`t=<Unix seconds>,sha256=<hex HMAC of "t.path.body">` under `UPDATE_HOOK_SECRET`, of the last five minutes.',
  },
} as const

type Scheme = keyof typeof securitySchemes

const token = [by('bearer'), by('dpop', 'dpopProof')]
/** Of whoever is known. */
export const known: readonly SecurityRequirement[] = [...token, by('apiKey')]
const proof = [by('dpopProof')]

/** What stands instead of a permission. */
const others: Readonly<
  Record<Extract<RouteAccess, string>, { readonly security: readonly SecurityRequirement[]; readonly text: string }>
> = {
  none: { security: [], text: 'Anybody may call it.' },
  link: { security: [by('link')], text: 'For devices and gateways, by credentials of the device link.' },
  session: { security: known, text: 'For everybody who is known, API keys among them.' },
  person: { security: token, text: 'For people who signed in; not for API keys.' },
  proof: { security: proof, text: 'For holders of a key, who prove it.' },
  'person or proof': { security: [...token, ...proof], text: 'For people who signed in, and for holders of a key.' },
  hook: {
    security: [by('hook'), ...known],
    text: 'For the update server, which signs it, or with `update` on `updates`.',
  },
}

/** Where the credential is the request's own. */
const own: Readonly<Record<string, { readonly security: readonly SecurityRequirement[]; readonly text: string }>> = {
  readToken: { security: [by('basic')], text: 'For users, by name and password.' },
  readImage: { security: [], text: 'The address is the credential: it is signed, for one device, and expires.' },
  readBackup: {
    security: known,
    text: 'Needs every action on every resource, `*` on `*`, on all devices and services, in tenant `default`.',
  },
  readUnsubscribe: { security: [], text: 'The address is the credential: it is signed, and stands in a mail.' },
  unsubscribeByLink: { security: [], text: 'The address is the credential: it is signed, and stands in a mail.' },
}

const within: Readonly<Record<Permission['within'], string>> = {
  'service of device': 'What lies outside of his devices and services is not there (404).',
  device: 'What lies outside of his devices is not there (404).',
  service: 'What lies outside of his services is not there (404).',
  list: 'What lies outside of his reach is left out.',
  tenant: '',
}

export function accessOf({ name, access }: RouteEntry): {
  readonly security: readonly SecurityRequirement[]
  readonly text: string
} {
  const ownWay = own[name]
  if (ownWay) return ownWay
  if (typeof access === 'string') return others[access]
  const { action, resource, mayCreate } = access
  const right = mayCreate ? `\`${action}\` (\`create\` where it makes something new)` : `\`${action}\``
  return { security: known, text: [`Needs ${right} on \`${resource}\`.`, within[access.within]].join(' ').trim() }
}

/** Whether a nonce may be asked for, and is handed out. */
export function mayProve(entry: RouteEntry): boolean {
  return accessOf(entry).security.some((requirement) => 'dpopProof' in requirement)
}

function by(...schemes: readonly Scheme[]): SecurityRequirement {
  return Object.fromEntries(schemes.map((scheme) => [scheme, []]))
}
