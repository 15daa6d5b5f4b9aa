import { deviceKinds, round, share } from '#bench/fleet/kinds'

/** The buildings of the company of the demo, and the devices in them. */

const kinds = deviceKinds()

interface Site {
  readonly name: string
  readonly lat: number
  readonly lon: number
}

export const sites: readonly Site[] = [
  { name: 'Zürich', lat: 47.3769, lon: 8.5417 },
  { name: 'Basel', lat: 47.5596, lon: 7.5886 },
  { name: 'Lausanne', lat: 46.5197, lon: 6.6323 },
  { name: 'Lugano', lat: 46.0037, lon: 8.9511 },
]

/** The site of a device. Each site has devices of all kinds. */
export function siteOf(deviceIndex: number): Site {
  return sites[Math.floor(deviceIndex / kinds.length) % sites.length] as Site
}

/** The metadata of a device. */
export function metadataOf(deviceIndex: number): object {
  const place = Math.floor(deviceIndex / kinds.length / sites.length)
  const { name: site, lat, lon } = siteOf(deviceIndex)
  const { name: kind = '' } = kinds[deviceIndex % kinds.length] ?? {}
  const [floor, room] = [Math.floor(place / 12) % 8, (place % 12) + 1]
  const roomName = `${floor}.${String(room).padStart(2, '0')}`
  const distance = (salt: number) => Math.round((share(deviceIndex, salt) - 0.5) * 40) / 10_000
  return {
    name: `${kind} ${roomName}`,
    site,
    floor,
    room: roomName,
    location: { lat: round(lat + distance(1), 4), lon: round(lon + distance(2), 4) },
    tags: [kind.toLowerCase(), ...(floor === 0 && room === 1 ? ['entrance'] : [])],
  }
}
