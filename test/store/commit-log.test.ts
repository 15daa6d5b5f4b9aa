import { embeddedLog } from '#store/commit-log'
import { commitLogSuite } from '#test/store/commit-log-suite'

commitLogSuite('of one process', embeddedLog(false))
