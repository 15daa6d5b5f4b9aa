import { session } from '#dashboard/session'

/** For a terminal, where there is nothing yet: the same as the page does. */

/** Uploads an image, in one part. */
export function uploadCommand(project: string, version: string): string {
  return `curl -T ${project}-${version}.bin${credential()} ${api()}/updates/projects/${project}/releases/${version}`
}

/** Holds a device at a version. */
export function pinCommand(project: string, version: string): string {
  return putCommand(`${project}/pins/PUMP-7`, { firmware: version })
}

/** Brings a version to a tenth of the devices, until too many fail. */
export function rolloutCommand(project: string, version: string): string {
  return putCommand(`${project}/rollout`, { firmware: version, percent: 10, errorThresholdPercent: 20 })
}

/** Simulated devices that say what firmware they have, and take another one: well, slowly, or not at all. */
export function fleetCommand(): string {
  const url = location.origin.replace(/^http/, 'ws')
  const key = session.value.state === 'IAM off' ? '' : ' --key "$PROVISIONING_KEY"'
  return `npm run fleet -- --url ${url} --devices 50 --rate 100 --updates mixed${key}`
}

function putCommand(path: string, body: object): string {
  const json = `-H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`
  return `curl -X PUT${credential()} ${json} ${api()}/updates/projects/${path}`
}

function credential(): string {
  return session.value.state === 'IAM off' ? '' : ' -H "X-API-Key: $API_KEY"'
}

function api(): string {
  return `${location.origin}/api/v1`
}
