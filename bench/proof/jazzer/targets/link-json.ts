import { goodFrames, readFrame } from '#bench/proof/jazzer/link-frame'
import { seedsOf, type Target } from '#bench/proof/jazzer/target'
import { jsonCodec } from '#link/json-codec'

export const about = 'frames of a device in JSON'

export const seeds = seedsOf(...goodFrames.map((frame) => JSON.stringify(frame)))

export const fuzz: Target['fuzz'] = (bytes) => readFrame(jsonCodec, false, bytes)
