import { describe } from 'vitest'
import { linkSuite } from '#test/blackbox/link-suite'

describe('the device link, link.v1.json', () => linkSuite('json'))
