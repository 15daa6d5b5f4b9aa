import { testShare } from '#test/simulation/share'

testShare(2)
