import { type Finding, hint, ok, wrong } from '#cli/doctor/finding'

/** The versions of Node that run the server. With another version above the minimum, the launcher installs Node 22. */
export const nodeRange = '^20.19 || ^22.12'

/** `version` has no leading `v`. */
export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isInRange = nodeRange.split(' || ').some((range) => {
    const [ofMajor, leastMinor = 0] = range.slice(1).split('.').map(Number)
    return major === ofMajor && minor >= leastMinor
  })
  if (isInRange) return ok('Node', `v${version}`)
  return wrong('Node', `the server does not run on v${version}`, `install Node 22 (${nodeRange})`)
}

/** The minimum for the limit of open files: LevelDB uses 2 000 files, and each socket uses one file. */
const filesMin = 4_096
const filesRecommended = 20_000

/** `limits`: the text of `/proc/self/limits`, or undefined. */
export function openFilesFinding(limits: string | undefined): Finding {
  const about = 'open files'
  const [, soft] = /^Max open files\s+(\d+|unlimited)\s/m.exec(limits ?? '') ?? []
  if (soft === undefined) return ok(about, 'the system does not report the limit of a process')
  const count = soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
  const todo = 'ulimit -n 65536; for systemd LimitNOFILE=65536; for a container --ulimit nofile=65536'
  if (count < filesMin) return wrong(about, `${soft}: too few for the database and its clients`, todo)
  if (count < filesRecommended) return hint(about, `${soft}: enough for about ${count - 2_100} sockets`, todo)
  return ok(about, soft)
}
